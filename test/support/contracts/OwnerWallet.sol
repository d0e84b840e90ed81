// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// The smallest contract wallet: what its owner signed, it has signed (ERC-1271). Tests pay from it.
contract OwnerWallet {
    bytes4 private constant ACCEPTED = bytes4(keccak256("isValidSignature(bytes32,bytes)"));

    address public owner;

    /// Instead of a constructor, so that the runtime code can be put at any address.
    function initialize(address first) external {
        require(owner == address(0), "OwnerWallet: has an owner");
        owner = first;
    }

    /// Takes 65 bytes (r, s, v) of the owner; bytes that follow are ignored, which lets a test send longer signatures.
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (signature.length < 65) return 0xffffffff;
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        address signer = ecrecover(digest, uint8(signature[64]), r, s);
        return signer != address(0) && signer == owner ? ACCEPTED : bytes4(0xffffffff);
    }
}
