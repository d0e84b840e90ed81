/** The sandbox's people: a buyer, a relayer that pays the gas, and whoever is paid. Made once, kept for good. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isAddress, type Address, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'
import { readIfThere, writeWhole } from './files.ts'

interface Account {
  address: Address
  privateKey: Hex
}

export interface Accounts {
  buyer: Account
  relayer: Account
  /** Only an address: no token is ever spent from it, and what the chain does in its name it does on its word. */
  receiver: Address
}

const PrivateKey = z.custom<Hex>((value) => typeof value === 'string' && /^0x[0-9a-f]{64}$/.test(value))
const Kept = z.strictObject({
  buyer: PrivateKey,
  relayer: PrivateKey,
  receiver: z.custom<Address>((value) => typeof value === 'string' && isAddress(value)),
})

/**
 * Reads accounts.json, or writes it with new keys; beside it buyer.key, the file from which the client pays. Both are
 * readable by their owner only.
 * @throws when accounts.json is there and isn't what we write
 */
export async function openAccounts({ directory }: { directory: string }): Promise<Accounts> {
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const kept = (await readAccounts(join(directory, 'accounts.json'))) ?? (await makeAccounts(directory))

  const keyFile = join(directory, 'buyer.key')
  const keyText = `${kept.buyer}\n`
  if ((await readIfThere(keyFile)) !== keyText) await writeWhole(keyFile, keyText)
  return { buyer: accountOf(kept.buyer), relayer: accountOf(kept.relayer), receiver: kept.receiver }
}

async function readAccounts(path: string) {
  const text = await readIfThere(path)
  if (text === undefined) return undefined
  try {
    return Kept.parse(JSON.parse(text))
  } catch {
    // Without the cause: a parser's words would show a piece of the keys.
    throw new Error(`${path} is not the sandbox's list of accounts: mend it, or move it away`)
  }
}

async function makeAccounts(directory: string) {
  const receiver = privateKeyToAccount(generatePrivateKey()).address
  const made = { buyer: generatePrivateKey(), relayer: generatePrivateKey(), receiver }
  await writeWhole(join(directory, 'accounts.json'), `${JSON.stringify(made, null, 2)}\n`)
  return made
}

function accountOf(privateKey: Hex): Account {
  return { address: privateKeyToAccount(privateKey).address, privateKey }
}
