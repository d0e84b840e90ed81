// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// The functions of Multicall3 that the sandbox needs: the x402 facilitator calls tryAggregate, viem calls aggregate3.
/// Signatures and results are those of the contract at 0xcA11bde05977b3631167028862bE2a173976CA11 on most chains.
contract Multicall {
    struct Call {
        address target;
        bytes callData;
    }

    struct Call3 {
        address target;
        bool allowFailure;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            results[i] = _perform(calls[i].target, calls[i].callData, !requireSuccess);
        }
    }

    function aggregate3(Call3[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            results[i] = _perform(calls[i].target, calls[i].callData, calls[i].allowFailure);
        }
    }

    function _perform(address target, bytes calldata callData, bool allowFailure) private returns (Result memory result) {
        (result.success, result.returnData) = target.call(callData);
        require(result.success || allowFailure, "Multicall3: call failed");
    }
}
