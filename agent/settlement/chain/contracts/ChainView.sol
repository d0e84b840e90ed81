// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

interface Token {
    function authorizationState(address authorizer, bytes32 nonce) external view returns (bool);
    function balanceOf(address account) external view returns (uint256);
}

/// Reads the chain and several payments from one state of one node, and tries a transfer in this state. Never deployed:
/// `eth_call` runs the constructor, and its result is returned in place of the code. A token without code reverts, so that
/// no state is made up for it.
contract ChainView {
    struct Payment {
        Token token;
        address payer;
        bytes32 nonce;
        uint256 recordedBlock;
    }

    struct State {
        uint256 codeBytes;
        uint256 balance;
        bool isNonceUsed;
        bytes32 recordedHash;
    }

    /// Blocks between the newest block and the one whose hash a sale records.
    uint256 private constant DEPTH = 64;
    /// The contract with the hashes of the last 8191 blocks (EIP-2935).
    address private constant HISTORY = 0x0000F90827F1C53a10cb7A02335B175320002935;

    /// More than a transfer needs. A wallet contract (ERC-1271) cannot use up the gas of the call.
    uint256 private constant TRANSFER_GAS = 300_000;

    /// Common wallet contracts need 210,000 to 400,000 (github.com/erc7579/aa-benchmark).
    uint256 private constant DEPLOYMENT_GAS = 1_000_000;

    /// `transfer` is a call of the token of the first payment, or empty. `deployment` is a call of `factory` that comes
    /// before it if the payer has no code (ERC-6492).
    constructor(
        uint256 checkedBlock,
        Payment[] memory payments,
        bytes memory transfer,
        address factory,
        bytes memory deployment
    ) {
        State[] memory states = new State[](payments.length);
        for (uint256 index; index < payments.length; ++index) {
            Payment memory payment = payments[index];
            states[index] = State(
                payment.payer.code.length,
                payment.token.balanceOf(payment.payer),
                payment.token.authorizationState(payment.payer, payment.nonce),
                hashOf(payment.recordedBlock)
            );
        }
        // Last, because it changes the state.
        uint256 outcome;
        bytes memory reason;
        if (transfer.length > 0) {
            bool isUndeployed = factory != address(0) && payments[0].payer.code.length == 0;
            if (isUndeployed) deploy(factory, deployment);
            (outcome, reason) = tryTransfer(payments[0].token, transfer);
            // Without its wallet, the reason of the token says nothing about the payment.
            if (isUndeployed && payments[0].payer.code.length == 0) reason = "";
        }
        bytes32 anchor = hashOf(block.number > DEPTH ? block.number - DEPTH : 0);
        bytes memory result = abi.encode(
            block.chainid, block.number, block.timestamp, anchor, hashOf(checkedBlock), outcome, reason, states
        );
        assembly {
            return(add(result, 32), mload(result))
        }
    }

    /// Copies nothing that the factory returns.
    function deploy(address factory, bytes memory deployment) private {
        assembly {
            pop(call(DEPLOYMENT_GAS, factory, 0, add(deployment, 32), mload(deployment), 0, 0))
        }
    }

    /// 1 if the token makes the transfer, 2 and the reason if it reverts.
    function tryTransfer(Token token, bytes memory transfer) private returns (uint256, bytes memory) {
        (bool isMade, bytes memory reason) = address(token).call{gas: TRANSFER_GAS}(transfer);
        return (isMade ? 1 : 2, reason);
    }

    /// Zero if the hash is not available.
    function hashOf(uint256 number) private view returns (bytes32) {
        if (number >= block.number) return 0;
        if (block.number - number <= 256) return blockhash(number);
        (bool isFound, bytes memory hash) = HISTORY.staticcall(abi.encode(number));
        return isFound && hash.length == 32 ? bytes32(hash) : bytes32(0);
    }
}
