/**
 * Compiles the project's contracts. The output is checked in, so that the service needs no compiler. `npm run tool --
 * contracts` writes it again, and a test compares it.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { format } from 'prettier'
import { readArguments } from '../support/arguments.ts'

export const CONTRACTS = [
  'agent/settlement/chain/contracts/ChainView.sol',
  'agent/sandbox/contracts/TestUSDC.sol',
  'agent/sandbox/contracts/Multicall.sol',
  'agent/sandbox/contracts/IdentityRegistry.sol',
  'agent/sandbox/contracts/ReputationRegistry.sol',
  'test/support/contracts/WalletFactory.sol',
]

/** Without a metadata hash, the same source always gives the same bytes. The sandbox's chain runs the Cancun fork. */
const SETTINGS = {
  optimizer: { enabled: true, runs: 200 },
  evmVersion: 'cancun',
  metadata: { bytecodeHash: 'none', appendCBOR: false },
}

interface Output {
  errors?: { severity: string; formattedMessage: string }[]
  contracts?: Record<
    string,
    Record<string, { abi: unknown; evm: { bytecode: { object: string }; deployedBytecode: { object: string } } }>
  >
}

export function rootFile(path: string): string {
  return fileURLToPath(import.meta.resolve(`#root/${path}`))
}

export function compiledPath(source: string): string {
  return source.replace(/\.sol$/, '.json')
}

/** @returns the JSON file of a source. A warning fails the compilation, like an error. */
export async function compileContract(source: string): Promise<string> {
  // A dynamic import, because the compiler has 9 MB.
  const { default: solc } = await import('solc')
  const name = basename(source, '.sol')
  const input = {
    language: 'Solidity',
    sources: { [name]: { content: await readFile(rootFile(source), 'utf8') } },
    settings: {
      ...SETTINGS,
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
    },
  }
  const output = JSON.parse(solc.compile(JSON.stringify(input))) as Output
  if (output.errors?.length) throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'))
  const contract = output.contracts?.[name]?.[name]
  if (!contract) throw new Error(`${source} holds no contract ${name}`)
  const { bytecode, deployedBytecode } = contract.evm
  const compiled = {
    abi: contract.abi,
    // A contract that is not deployed has only a constructor.
    ...(source.endsWith('View.sol')
      ? { creation: `0x${bytecode.object}` }
      : { runtime: `0x${deployedBytecode.object}` }),
    compiler: solc.version(),
    settings: SETTINGS,
  }
  return format(JSON.stringify(compiled), { parser: 'json', printWidth: 120 })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  readArguments('')
  for (const source of CONTRACTS) await writeFile(rootFile(compiledPath(source)), await compileContract(source))
}
