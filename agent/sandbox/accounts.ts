/**
 * The accounts of the sandbox: a buyer, a relayer that pays the gas, and a receiver. They are created once and kept.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isAddress, type Address, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import * as z from 'zod'
import { ifMissing } from '../../base/error-code.ts'
import { writeFileAtomically } from '../../store/files/atomic-file.ts'
import { BUYER_KEY_FILE } from '../../store/files/layout.ts'
import { makePrivateDirectory } from '../../store/files/private-files.ts'

const privateKeySchema = z.custom<Hex>((value) => typeof value === 'string' && /^0x[0-9a-f]{64}$/.test(value))
const accountsSchema = z.strictObject({
  buyer: privateKeySchema,
  relayer: privateKeySchema,
  /** An address without a key, because nothing is spent from it. */
  receiver: z.custom<Address>((value) => typeof value === 'string' && isAddress(value)),
})

/**
 * Reads accounts.json, or creates it with new keys, and creates buyer.key, which the client reads. Only the owner can
 * read both files.
 * @throws if accounts.json exists and is invalid
 */
export async function openAccounts({ directory }: { directory: string }) {
  await makePrivateDirectory(directory)
  const keys = (await readAccounts(join(directory, 'accounts.json'))) ?? (await createAccounts(directory))

  const keyFile = join(directory, BUYER_KEY_FILE)
  const keyText = `${keys.buyer}\n`
  if ((await readFile(keyFile, 'utf8').catch(ifMissing(undefined))) !== keyText)
    await writeFileAtomically(keyFile, keyText)
  return { buyer: toAccount(keys.buyer), relayer: toAccount(keys.relayer), receiver: keys.receiver }
}

async function readAccounts(path: string) {
  const text = await readFile(path, 'utf8').catch(ifMissing(undefined))
  if (text === undefined) return undefined
  try {
    return accountsSchema.parse(JSON.parse(text))
  } catch {
    // Without the cause, because the message of the parser quotes the file, which holds keys.
    throw new Error(`${path} is not a valid list of sandbox accounts: repair it or move it away`)
  }
}

async function createAccounts(directory: string) {
  const receiver = privateKeyToAccount(generatePrivateKey()).address
  const created = { buyer: generatePrivateKey(), relayer: generatePrivateKey(), receiver }
  await writeFileAtomically(join(directory, 'accounts.json'), `${JSON.stringify(created, null, 2)}\n`)
  return created
}

function toAccount(privateKey: Hex) {
  return { address: privateKeyToAccount(privateKey).address, privateKey }
}
