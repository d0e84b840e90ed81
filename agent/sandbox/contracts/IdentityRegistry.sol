// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// The identity registry of the sandbox, after ERC-8004. Agents are ERC-721 tokens with ids from 0. The contract has no
/// constructor, so its runtime code can be installed at the address of the public registry.
///
/// setAgentWallet and the receiver hook of safe transfers are not implemented, because the service does not need them.
contract IdentityRegistry {
    struct MetadataEntry {
        string metadataKey;
        bytes metadataValue;
    }

    string public constant name = "AgentIdentity";
    string public constant symbol = "AGENT";

    /// A metadata key that only the registry itself sets.
    string private constant WALLET_KEY = "agentWallet";

    uint256 private _count;
    mapping(uint256 => address) private _owners;
    mapping(uint256 => string) private _uris;
    mapping(uint256 => mapping(string => bytes)) private _metadata;
    mapping(address => uint256) private _balances;
    mapping(uint256 => address) private _approved;
    mapping(address => mapping(address => bool)) public isApprovedForAll;

    event Registered(uint256 indexed agentId, string agentURI, address indexed owner);
    event URIUpdated(uint256 indexed agentId, string newURI, address indexed updatedBy);
    event MetadataSet(
        uint256 indexed agentId, string indexed indexedMetadataKey, string metadataKey, bytes metadataValue
    );
    event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);
    event Approval(address indexed owner, address indexed approved, uint256 indexed tokenId);
    event ApprovalForAll(address indexed owner, address indexed operator, bool approved);

    error ERC721NonexistentToken(uint256 tokenId);

    // ---- ERC-8004

    function register() external returns (uint256) {
        return _register("");
    }

    function register(string calldata agentURI) external returns (uint256) {
        return _register(agentURI);
    }

    function register(string calldata agentURI, MetadataEntry[] calldata metadata) external returns (uint256 agentId) {
        agentId = _register(agentURI);
        for (uint256 i = 0; i < metadata.length; i++) {
            _requireFree(metadata[i].metadataKey);
            _setMetadata(agentId, metadata[i].metadataKey, metadata[i].metadataValue);
        }
    }

    function setAgentURI(uint256 agentId, string calldata newURI) external {
        require(isAuthorizedOrOwner(msg.sender, agentId), "Not authorized");
        _uris[agentId] = newURI;
        emit URIUpdated(agentId, newURI, msg.sender);
    }

    function getMetadata(uint256 agentId, string calldata metadataKey) external view returns (bytes memory) {
        return _metadata[agentId][metadataKey];
    }

    function setMetadata(uint256 agentId, string calldata metadataKey, bytes calldata metadataValue) external {
        require(isAuthorizedOrOwner(msg.sender, agentId), "Not authorized");
        _requireFree(metadataKey);
        _setMetadata(agentId, metadataKey, metadataValue);
    }

    /// Returns zero if no wallet is set or the agent does not exist.
    function getAgentWallet(uint256 agentId) external view returns (address) {
        return address(bytes20(_metadata[agentId][WALLET_KEY]));
    }

    function unsetAgentWallet(uint256 agentId) external {
        require(isAuthorizedOrOwner(msg.sender, agentId), "Not authorized");
        _setMetadata(agentId, WALLET_KEY, "");
    }

    function isAuthorizedOrOwner(address spender, uint256 agentId) public view returns (bool) {
        address owner = ownerOf(agentId);
        return spender == owner || isApprovedForAll[owner][spender] || _approved[agentId] == spender;
    }

    // ---- ERC-721

    function supportsInterface(bytes4 id) external pure returns (bool) {
        return id == 0x01ffc9a7 || id == 0x80ac58cd || id == 0x5b5e139f;
    }

    function ownerOf(uint256 agentId) public view returns (address owner) {
        owner = _owners[agentId];
        if (owner == address(0)) revert ERC721NonexistentToken(agentId);
    }

    function tokenURI(uint256 agentId) external view returns (string memory) {
        ownerOf(agentId);
        return _uris[agentId];
    }

    function balanceOf(address owner) external view returns (uint256) {
        require(owner != address(0), "zero address");
        return _balances[owner];
    }

    function getApproved(uint256 agentId) external view returns (address) {
        ownerOf(agentId);
        return _approved[agentId];
    }

    function approve(address to, uint256 agentId) external {
        address owner = ownerOf(agentId);
        require(msg.sender == owner || isApprovedForAll[owner][msg.sender], "Not authorized");
        _approved[agentId] = to;
        emit Approval(owner, to, agentId);
    }

    function setApprovalForAll(address operator, bool approved) external {
        isApprovedForAll[msg.sender][operator] = approved;
        emit ApprovalForAll(msg.sender, operator, approved);
    }

    /// Removes the wallet, because only the previous owner has verified it.
    function transferFrom(address from, address to, uint256 agentId) external {
        require(isAuthorizedOrOwner(msg.sender, agentId), "Not authorized");
        require(from == ownerOf(agentId) && to != address(0), "wrong owner or receiver");
        _setMetadata(agentId, WALLET_KEY, "");
        delete _approved[agentId];
        _balances[from]--;
        _balances[to]++;
        _owners[agentId] = to;
        emit Transfer(from, to, agentId);
    }

    // ---- shared internal functions

    function _register(string memory agentURI) private returns (uint256 agentId) {
        agentId = _count++;
        _owners[agentId] = msg.sender;
        _balances[msg.sender]++;
        _uris[agentId] = agentURI;
        emit Transfer(address(0), msg.sender, agentId);
        emit Registered(agentId, agentURI, msg.sender);
        _setMetadata(agentId, WALLET_KEY, abi.encodePacked(msg.sender));
    }

    function _requireFree(string calldata metadataKey) private pure {
        require(keccak256(bytes(metadataKey)) != keccak256(bytes(WALLET_KEY)), "reserved key");
    }

    function _setMetadata(uint256 agentId, string memory metadataKey, bytes memory metadataValue) private {
        _metadata[agentId][metadataKey] = metadataValue;
        emit MetadataSet(agentId, metadataKey, metadataKey, metadataValue);
    }
}
