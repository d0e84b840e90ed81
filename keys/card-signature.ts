/**
 * Signs the agent card once (A2A 1.0 section 8.4: JWS over the RFC 8785 form).
 *
 * Verifiers differ in what they drop, escape and round before they hash. A card verifies everywhere if it has every
 * required field, extension params that are strings, printable ASCII only, and no numbers, nulls, empty values or
 * security schemes. test/spec/discovery.test.ts checks this of the card of the service.
 */
import { AgentCard, generateAgentCardSignature } from '@a2a-js/sdk'
import type { Keyring } from './keyring.ts'

/**
 * The signed card as ProtoJSON, ready for JSON.stringify. ES256 signatures differ each time, so sign once and serve the
 * result.
 * @param options.jwksUrl the URL of the public keys, `jku` in the protected header
 */
export async function signCard(options: {
  card: AgentCard
  keyring: Pick<Keyring, 'kid' | 'privateKey'>
  jwksUrl: string
}) {
  const { keyring, jwksUrl } = options
  // A copy without undefined members, as a client parses it.
  const card = JSON.parse(JSON.stringify(AgentCard.toJSON(options.card))) as Record<string, unknown>
  const header = { alg: 'ES256', typ: 'JOSE', kid: keyring.kid, jku: jwksUrl }
  // The SDK's signer expects ProtoJSON under the type AgentCard. It drops members of a real AgentCard (a2a-js issue
  // 663).
  const signed = await generateAgentCardSignature(keyring.privateKey, header)(card as unknown as AgentCard)
  const signatures = signed.signatures.map((each) => ({ protected: each.protected, signature: each.signature }))
  return { ...card, signatures }
}
