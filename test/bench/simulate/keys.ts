/** The key of a payment on the simulated chain: payer and nonce in lower case. */
export const keyOf = (from: string, nonce: string) => `${from}/${nonce}`.toLowerCase()
