/**
 * Signs the agent card once (A2A 1.0 section 8.4: JWS over the RFC 8785 form), in a shape on which all verifiers agree.
 *
 * Verifiers differ in what they drop, escape and round before they hash. A card keeps clear of every difference by these
 * rules: every required field present; extension params are a flat object of strings; printable ASCII only; no number and
 * no null; nothing empty; nothing that the SDK reads back differently.
 */
import { AgentCard, AgentCardSignature, canonicalizeAgentCard, generateAgentCardSignature } from '@a2a-js/sdk'
import { z } from 'zod'
import type { Keyring } from './keyring.ts'

/** The signed card as ProtoJSON, ready for JSON.stringify. */
export type SignedCardJson = {
  readonly signatures: readonly { readonly protected: string; readonly signature: string }[]
  readonly [member: string]: unknown
}

/** The card breaks a rule that keeps its signature verifiable; the message names the place and the rule. */
export class CardError extends Error {
  override readonly name = 'CardError'
}

const skill = z.looseObject({ id: z.string(), name: z.string(), description: z.string(), tags: z.array(z.string()) })
const cardInterface = z.looseObject({ url: z.string(), protocolBinding: z.string(), protocolVersion: z.string() })
const extension = z.looseObject({ uri: z.string(), params: z.record(z.string(), z.string()).optional() })

/** The REQUIRED fields of the A2A 1.0 proto, and the rule for params. Emptiness and characters are checked everywhere. */
const cardSchema = z.looseObject({
  name: z.string(),
  description: z.string(),
  version: z.string(),
  supportedInterfaces: z.array(cardInterface),
  provider: z.looseObject({ url: z.string(), organization: z.string() }).optional(),
  capabilities: z.looseObject({ extensions: z.array(extension).optional() }),
  defaultInputModes: z.array(z.string()),
  defaultOutputModes: z.array(z.string()),
  skills: z.array(skill),
  signatures: z.undefined('must be absent before signing').optional(),
})

/**
 * Signs a card with the keyring's current key. ES256 signatures differ each time: sign once at start, serve the result.
 * @param options.jwksUrl where the public keys are; goes into the protected header as `jku`
 * @throws CardError when the card breaks a rule
 */
export async function signCard(options: {
  card: AgentCard
  keyring: Pick<Keyring, 'kid' | 'privateKey'>
  jwksUrl: string
}): Promise<SignedCardJson> {
  const { keyring, jwksUrl } = options
  const card = toPlainJson(options.card)
  checkCard(card)
  const header = { alg: 'ES256', typ: 'JOSE', kid: keyring.kid, jku: jwksUrl }
  const signed = await generateAgentCardSignature(keyring.privateKey, header)(asSdkCard(card))
  return { ...card, signatures: signed.signatures.map(toSignatureJson) }
}

/** ProtoJSON as a reader will parse it: detached from the caller's object, without undefined members. */
function toPlainJson(card: AgentCard): Record<string, unknown> {
  return JSON.parse(JSON.stringify(AgentCard.toJSON(card))) as Record<string, unknown>
}

/** The SDK's signer takes ProtoJSON under the type of its own form, and drops parts of its own form (a2a-js issue 663). */
function asSdkCard(card: Record<string, unknown>): AgentCard {
  return card as unknown as AgentCard
}

function toSignatureJson(signature: AgentCardSignature): { protected: string; signature: string } {
  return { protected: signature.protected, signature: signature.signature }
}

function checkCard(card: Record<string, unknown>): void {
  const issue = cardSchema.safeParse(card).error?.issues[0]
  if (issue !== undefined) throw new CardError(`${['card', ...issue.path].join('.')}: ${issue.message}`)
  checkValue('card', card)
  if (canonicalizeAgentCard(AgentCard.fromJSON(card)) !== canonicalizeAgentCard(asSdkCard(card))) {
    throw new CardError('card: the SDK loses part of it when it reads it back; declare no security schemes')
  }
}

/** Walks every value down to strings and booleans. */
function checkValue(place: string, value: unknown): void {
  if (typeof value === 'boolean') return
  if (typeof value === 'string') return checkText(place, value)
  if (typeof value !== 'object' || value === null) throw new CardError(`${place}: must not be a number or null`)
  const members = Object.entries(value)
  if (members.length === 0) throw new CardError(`${place}: must not be empty`)
  for (const [name, member] of members) {
    checkText(`name in ${place}`, name)
    checkValue(`${place}.${name}`, member)
  }
}

function checkText(place: string, text: string): void {
  if (text === '') throw new CardError(`${place}: must not be empty`)
  if (!/^[ -~]+$/.test(text)) throw new CardError(`${place}: must be printable ASCII on one line`)
}
