/** The ERC-8004 registries on Base Sepolia and the functions that the service calls. */
import { parseAbi, type Address } from 'viem'

/** The same addresses on every test network. */
export const REGISTRIES: { identity: Address; reputation: Address } = {
  identity: '0x8004A818BFB912233c491871b3d84c89A494BD9e',
  reputation: '0x8004B663056A597Dffe9eCcC1965A193B7388713',
}

/** Multicall3. The x402 facilitator also uses it, to tell a used nonce from other failures. */
export const MULTICALL: Address = '0xcA11bde05977b3631167028862bE2a173976CA11'

/**
 * Excludes functions that read all clients or all responders: anyone can make their results grow without bound. Strings
 * are declared as bytes, which have the same encoding: string decoders replace invalid UTF-8.
 */
export const REGISTRY_ABI = parseAbi([
  'function ownerOf(uint256 agentId) view returns (address)',
  'function tokenURI(uint256 agentId) view returns (bytes)',
  'function getAgentWallet(uint256 agentId) view returns (address)',
  'error ERC721NonexistentToken(uint256 tokenId)',
  'function getIdentityRegistry() view returns (address)',
  'function getLastIndex(uint256 agentId, address clientAddress) view returns (uint64)',
  'function readFeedback(uint256 agentId, address clientAddress, uint64 feedbackIndex) view returns (int128 value, uint8 valueDecimals, bytes tag1, bytes tag2, bool isRevoked)',
])
