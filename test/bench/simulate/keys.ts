/** What the chain of the simulation knows a payment by: payer and nonce, lower case. */
export const keyOf = (from: string, nonce: string) => `${from}/${nonce}`.toLowerCase()
