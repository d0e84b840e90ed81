// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

interface Agents {
    function isAuthorizedOrOwner(address spender, uint256 agentId) external view returns (bool);
}

/// The reputation registry of the sandbox, after ERC-8004. Any account except the owner and the operators of an agent may
/// give feedback. The feedback of one client for one agent has indexes from 1, and remains when it is revoked. The
/// contract has no constructor: write the address of the identity registry to storage slot 0.
///
/// Functions that read all clients of an agent are not implemented, because the service does not call them.
contract ReputationRegistry {
    struct Feedback {
        int128 value;
        uint8 valueDecimals;
        bool isRevoked;
        string tag1;
        string tag2;
    }

    /// Emitted in the event and not stored.
    struct Unstored {
        string endpoint;
        string feedbackURI;
        bytes32 feedbackHash;
    }

    int128 private constant VALUE_MAX = 1e38;
    uint8 private constant DECIMALS_MAX = 18;

    address private _identityRegistry;
    mapping(uint256 => mapping(address => uint64)) private _last;
    mapping(uint256 => mapping(address => mapping(uint64 => Feedback))) private _feedback;

    event NewFeedback(
        uint256 indexed agentId,
        address indexed clientAddress,
        uint64 feedbackIndex,
        int128 value,
        uint8 valueDecimals,
        string indexed indexedTag1,
        string tag1,
        string tag2,
        string endpoint,
        string feedbackURI,
        bytes32 feedbackHash
    );
    event FeedbackRevoked(uint256 indexed agentId, address indexed clientAddress, uint64 indexed feedbackIndex);
    event ResponseAppended(
        uint256 indexed agentId,
        address indexed clientAddress,
        uint64 feedbackIndex,
        address indexed responder,
        string responseURI,
        bytes32 responseHash
    );

    function getIdentityRegistry() external view returns (address) {
        return _identityRegistry;
    }

    function giveFeedback(
        uint256 agentId,
        int128 value,
        uint8 valueDecimals,
        string memory tag1,
        string memory tag2,
        string memory endpoint,
        string memory feedbackURI,
        bytes32 feedbackHash
    ) external {
        require(valueDecimals <= DECIMALS_MAX, "too many decimals");
        require(value >= -VALUE_MAX && value <= VALUE_MAX, "value too large");
        require(!Agents(_identityRegistry).isAuthorizedOrOwner(msg.sender, agentId), "Self-feedback not allowed");
        _give(
            agentId, Feedback(value, valueDecimals, false, tag1, tag2), Unstored(endpoint, feedbackURI, feedbackHash)
        );
    }

    function revokeFeedback(uint256 agentId, uint64 feedbackIndex) external {
        _requireGiven(agentId, msg.sender, feedbackIndex);
        Feedback storage feedback = _feedback[agentId][msg.sender][feedbackIndex];
        require(!feedback.isRevoked, "Already revoked");
        feedback.isRevoked = true;
        emit FeedbackRevoked(agentId, msg.sender, feedbackIndex);
    }

    function appendResponse(
        uint256 agentId,
        address clientAddress,
        uint64 feedbackIndex,
        string calldata responseURI,
        bytes32 responseHash
    ) external {
        _requireGiven(agentId, clientAddress, feedbackIndex);
        emit ResponseAppended(agentId, clientAddress, feedbackIndex, msg.sender, responseURI, responseHash);
    }

    /// Returns 0 for a client without feedback and for an agent that does not exist.
    function getLastIndex(uint256 agentId, address clientAddress) external view returns (uint64) {
        return _last[agentId][clientAddress];
    }

    function readFeedback(uint256 agentId, address clientAddress, uint64 feedbackIndex)
        external
        view
        returns (int128 value, uint8 valueDecimals, string memory tag1, string memory tag2, bool isRevoked)
    {
        _requireGiven(agentId, clientAddress, feedbackIndex);
        Feedback storage feedback = _feedback[agentId][clientAddress][feedbackIndex];
        return (feedback.value, feedback.valueDecimals, feedback.tag1, feedback.tag2, feedback.isRevoked);
    }

    function _give(uint256 agentId, Feedback memory feedback, Unstored memory unstored) private {
        uint64 index = ++_last[agentId][msg.sender];
        _feedback[agentId][msg.sender][index] = feedback;
        emit NewFeedback(
            agentId,
            msg.sender,
            index,
            feedback.value,
            feedback.valueDecimals,
            feedback.tag1,
            feedback.tag1,
            feedback.tag2,
            unstored.endpoint,
            unstored.feedbackURI,
            unstored.feedbackHash
        );
    }

    function _requireGiven(uint256 agentId, address clientAddress, uint64 feedbackIndex) private view {
        require(feedbackIndex > 0, "index must be > 0");
        require(feedbackIndex <= _last[agentId][clientAddress], "index out of bounds");
    }
}
