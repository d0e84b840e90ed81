/** The registries of ERC-8004 on Base Sepolia, and the few of their functions that are called. */
import { encodeErrorResult, parseAbi, parseAbiParameters, type Address, type Hex } from 'viem'

/** The same on every test network; those of the main networks are others. */
export const REGISTRIES: { identity: Address; reputation: Address } = {
  identity: '0x8004A818BFB912233c491871b3d84c89A494BD9e',
  reputation: '0x8004B663056A597Dffe9eCcC1965A193B7388713',
}

/**
 * Everything else the registries offer is left alone: whatever goes over all clients or all responders grows without
 * bound, by anyone's hand.
 */
export const REGISTRY_ABI = parseAbi([
  'function ownerOf(uint256 agentId) view returns (address)',
  'function tokenURI(uint256 agentId) view returns (string)',
  'function getAgentWallet(uint256 agentId) view returns (address)',
  'error ERC721NonexistentToken(uint256 tokenId)',
  'function getIdentityRegistry() view returns (address)',
  'function getLastIndex(uint256 agentId, address clientAddress) view returns (uint64)',
  'function readFeedback(uint256 agentId, address clientAddress, uint64 feedbackIndex) view returns (int128 value, uint8 valueDecimals, string tag1, string tag2, bool isRevoked)',
])

/** What comes back. Text is taken as bytes, which look the same: decoders of text drop and mend in silence. */
export const RETURNS = {
  address: parseAbiParameters('address'),
  text: parseAbiParameters('bytes'),
  index: parseAbiParameters('uint64'),
  feedback: parseAbiParameters('int128, uint8, bytes, bytes, bool'),
}

/** The only words for "there is no such agent". */
export function noSuchAgent(agentId: bigint): Hex {
  return encodeErrorResult({ abi: REGISTRY_ABI, errorName: 'ERC721NonexistentToken', args: [agentId] })
}

/** What reading behind a client's last feedback reverts with. */
export const OUT_OF_BOUNDS: Hex = encodeErrorResult({
  abi: parseAbi(['error Error(string)']),
  errorName: 'Error',
  args: ['index out of bounds'],
})
