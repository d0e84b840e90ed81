/**
 * Signs the agent card once (A2A 1.0 section 8.4: JWS over the RFC 8785 form).
 *
 * Verifiers differ in what they drop, escape and round before they hash. A card that follows these rules verifies
 * everywhere: every required field is present; extension params are a flat object of strings; texts are printable ASCII;
 * there are no numbers, nulls or empty values; the SDK reads the card back unchanged.
 */
import { AgentCard, AgentCardSignature, canonicalizeAgentCard, generateAgentCardSignature } from '@a2a-js/sdk'
import { z } from 'zod'
import type { Keyring } from './keyring.ts'

/** The signed card as ProtoJSON, ready for JSON.stringify. */
export type SignedCardJson = {
  readonly signatures: readonly { readonly protected: string; readonly signature: string }[]
  readonly [member: string]: unknown
}

/** The card breaks a rule that its signature depends on. The message names the member and the rule. */
export class CardError extends Error {
  override readonly name = 'CardError'
}

const skill = z.looseObject({ id: z.string(), name: z.string(), description: z.string(), tags: z.array(z.string()) })
const cardInterface = z.looseObject({ url: z.string(), protocolBinding: z.string(), protocolVersion: z.string() })
const extension = z.looseObject({ uri: z.string(), params: z.record(z.string(), z.string()).optional() })

/** The required fields of the A2A 1.0 proto, and the rule for extension params. `checkValue` checks the values. */
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
 * Signs a card with the signing key. ES256 signatures differ each time, so sign once at start and serve the result.
 * @param options.jwksUrl the URL of the public keys, `jku` in the protected header
 * @throws CardError if the card breaks a rule
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

/** Returns ProtoJSON as a client parses it: a copy without undefined members. */
function toPlainJson(card: AgentCard): Record<string, unknown> {
  return JSON.parse(JSON.stringify(AgentCard.toJSON(card))) as Record<string, unknown>
}

/** The SDK's signer expects ProtoJSON under the type AgentCard. It drops members of a real AgentCard (a2a-js issue 663). */
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
    throw new CardError('card: the SDK drops members when it parses the card; declare no security schemes')
  }
}

/** Checks every value recursively. `path` names the value in the error. */
function checkValue(path: string, value: unknown): void {
  if (typeof value === 'boolean') return
  if (typeof value === 'string') return checkText(path, value)
  if (typeof value !== 'object' || value === null) throw new CardError(`${path}: must not be a number or null`)
  const members = Object.entries(value)
  if (members.length === 0) throw new CardError(`${path}: must not be empty`)
  for (const [name, member] of members) {
    checkText(`name in ${path}`, name)
    checkValue(`${path}.${name}`, member)
  }
}

function checkText(path: string, text: string): void {
  if (text === '') throw new CardError(`${path}: must not be empty`)
  if (!/^[ -~]+$/.test(text)) throw new CardError(`${path}: must be printable ASCII on one line`)
}
