/** Multicall3: several calls in one. The x402 facilitator also uses it, to tell a used nonce from other failures. */
import type { Address } from 'viem'

/** On every network. */
export const MULTICALL: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'
