/** Payment headers that need no signature of a payer, by the row of `bench perf` that measures their refusal. */
import { toHex } from 'viem'
import { PAYMENT_HEADER_BYTES_MAX, PAYMENT_MARKS_MAX } from '../../../agent/payment/headers.ts'
import { buildRequirements } from '../../../agent/payment/terms.ts'
import { header, testTerms } from '../../support/payments.ts'
import { priceOf } from '../../support/operations.ts'

const requirements = buildRequirements(testTerms, priceOf('lookup'))
const authorization = {
  from: '0x00000000000000000000000000000000000000a1',
  // Another receiver. With the right one, the check of the signature would follow, which may cost more.
  to: '0x00000000000000000000000000000000000000a1',
  value: requirements.amount,
  validAfter: '0',
  validBefore: '99999999999',
  nonce: toHex(crypto.getRandomValues(new Uint8Array(32))),
}
const payment = {
  x402Version: 2,
  accepted: requirements,
  payload: { signature: `0x${'1b'.repeat(65)}`, authorization },
}

const nested = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`
const toBase64 = (json: string) => Buffer.from(json).toString('base64')
/** As many characters as fit into a header beside a payment. */
const FILLER_CHARACTERS = PAYMENT_HEADER_BYTES_MAX * 0.75 - 800

const marks = JSON.stringify({ ...payment, extensions: {} }).match(/[:,[{]/g)?.length ?? 0
/** The extensions that fill the payment up to `PAYMENT_MARKS_MAX`. Each adds a colon and a comma. */
const EXTENSION_COUNT = Math.floor((PAYMENT_MARKS_MAX - marks + 1) / 2)

export const FORGERIES = {
  'forged terms': header({ ...payment, accepted: { ...requirements, amount: '999' } }),
  'forged large': header({ ...payment, extensions: { filler: 'a'.repeat(FILLER_CHARACTERS) } }),
  'forged values': header({
    ...payment,
    extensions: Object.fromEntries(memberNames(EXTENSION_COUNT).map((name) => [name, 0])),
  }),
  'forged base64': `${'A'.repeat(PAYMENT_HEADER_BYTES_MAX - 1)}%`,
  'forged depth': toBase64(JSON.stringify({ ...payment, deep: 0 }).replace('"deep":0', `"deep":${nested(2_400)}`)),
} as const

/** Names of different lengths, so that the members have no common layout. */
function memberNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `member${index}`.padEnd(10 + (index % 40), 'x'))
}
