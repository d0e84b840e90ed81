// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

interface Token {
    function balanceOf(address account) external view returns (uint256);
    function transfer(address to, uint256 value) external returns (bool);
}

/// The smallest contract wallet: what its owner signed, it has signed (ERC-1271). Tests pay from it.
contract OwnerWallet {
    bytes4 private constant ACCEPTED = bytes4(keccak256("isValidSignature(bytes32,bytes)"));

    address public immutable owner;

    constructor(address first) {
        owner = first;
    }

    function empty(Token token) external {
        token.transfer(msg.sender, token.balanceOf(address(this)));
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

/// Deploys wallets at addresses that are known before (CREATE2), and misbehaves in ways that a service must bear.
contract WalletFactory {
    event Called();

    /// Deploys the wallet of an owner, unless it exists.
    function deploy(address owner, bytes32 salt) public returns (address wallet) {
        wallet = addressOf(owner, salt);
        if (wallet.code.length == 0) new OwnerWallet{salt: salt}(owner);
    }

    function addressOf(address owner, bytes32 salt) public view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(OwnerWallet).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(hex"ff", address(this), salt, code)))));
    }

    function burnGas() external {
        while (true) emit Called();
    }

    function refuse() external pure {
        revert("WalletFactory: refused");
    }

    /// A megabyte of memory costs more gas than a deployment has, so this is as much as it can return.
    function returnMuch(uint256 bytesCount) external pure {
        assembly {
            return(0, bytesCount)
        }
    }

    /// Calls the caller, and itself, with what it was called with.
    function callBack() external {
        (bool isDone,) = msg.sender.call(msg.data);
        (isDone,) = address(this).call(msg.data);
    }

    /// Deploys the wallet only in a simulation, which has no gas price.
    function deployInSimulation(address owner, bytes32 salt) external {
        require(tx.gasprice == 0, "WalletFactory: not simulated");
        deploy(owner, salt);
    }

    /// Deploys the wallet, and takes its money unless it is a simulation.
    function deployAndEmpty(address owner, bytes32 salt, Token token) external {
        address wallet = deploy(owner, salt);
        if (tx.gasprice > 0) OwnerWallet(wallet).empty(token);
    }
}
