/** Signs EIP-3009 authorizations for quotes, with a private key or with the signer of a wallet. */
import type { DecodedQuote } from './quote.ts'

type Hex = `0x${string}`

/** An account that signs typed data (EIP-712), such as the account of a browser wallet. */
export interface Signer {
  address: Hex
  signTypedData(typed: AuthorizationTypedData): Promise<Hex>
}

/** An account of viem, whose parameter is typed in another way. */
export interface LocalAccount {
  address: Hex
  signTypedData: (parameters: never) => Promise<Hex>
}

/** What signs payments: a private key (0x and 64 hex digits), an account of viem, or another signer. */
export type Key = string | Signer | LocalAccount

/** The signer that the caller gives, or the account of a private key, which needs the cryptography of viem. */
export async function signerOf(key: Key): Promise<Signer> {
  if (typeof key !== 'string') return key
  const { privateKeyToAccount } = await import('./private-key-signer.ts')
  // Its types lack the decimal texts, which it encodes like numbers.
  return privateKeyToAccount(key as Hex)
}

/** Numbers are decimal texts, so that it can be sent to a wallet as JSON. */
export interface AuthorizationTypedData {
  domain: { name: string; version: string; chainId: number; verifyingContract: Hex }
  types: Record<string, { name: string; type: string }[]>
  primaryType: 'TransferWithAuthorization'
  message: AuthorizationMessage
}

type AuthorizationMessage = Record<'from' | 'to' | 'nonce', Hex> &
  Record<'value' | 'validAfter' | 'validBefore', string>

const members = (text: string) =>
  text.split(', ').map((member) => {
    const [type = '', name = ''] = member.split(' ')
    return { name, type }
  })

const TYPES: AuthorizationTypedData['types'] = {
  EIP712Domain: members('string name, string version, uint256 chainId, address verifyingContract'),
  TransferWithAuthorization: members(
    'address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce',
  ),
}

/** An authorization is valid some minutes before it is signed, because clocks differ. */
const VALID_BEFORE_SIGNING_SECONDS = 600

export function createAuthorization({ requirements }: DecodedQuote, from: Hex, now: Date): AuthorizationMessage {
  const seconds = Math.floor(now.getTime() / 1000)
  const random = crypto.getRandomValues(new Uint8Array(32))
  return {
    from,
    to: requirements.payTo as Hex,
    value: requirements.amount,
    validAfter: String(seconds - VALID_BEFORE_SIGNING_SECONDS),
    validBefore: String(seconds + requirements.maxTimeoutSeconds),
    nonce: `0x${Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('')}`,
  }
}

/** The caller has compared network, asset and domain of the quote with the expected ones. */
export function typedDataOf({ requirements }: DecodedQuote, message: AuthorizationMessage): AuthorizationTypedData {
  const { name, version } = requirements.extra as { name: string; version: string }
  const chainId = Number(requirements.network.replace('eip155:', ''))
  const domain = { name, version, chainId, verifyingContract: requirements.asset as Hex }
  return { domain, types: TYPES, primaryType: 'TransferWithAuthorization', message }
}
