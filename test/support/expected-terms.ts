/** What a buyer in a test expects of a quote on testnet, besides the receiver and the price. */
export const TESTNET_TERMS = {
  network: 'eip155:84532',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  domain: { name: 'USDC', version: '2' },
} as const
