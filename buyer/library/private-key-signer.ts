/** The account of a private key. A file of its own, so that bundles have nothing else of viem/accounts. */
export { privateKeyToAccount } from 'viem/accounts'
