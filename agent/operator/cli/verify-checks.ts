/** The checks of `verify` that need the chain or an archive of the register. */
import { isDeepStrictEqual } from 'node:util'
import { resolve } from 'node:path'
import * as z from 'zod'
import { openBuildProcesses } from '../../../store/import/build-process.ts'
import { openTemporaryFolder } from '../../../store/import/old-folders.ts'
import { companySchema, type SnapshotEntry } from '../../../store/dataset/company.ts'
import { snapshotFolder } from '../../../store/files/layout.ts'
import { openSnapshot } from '../../../store/dataset/snapshot.ts'
import { SYNTHETIC_COMPANY } from '../../../store/dataset/synthetic.ts'
import { versionSchema } from '../../operation/history.ts'
import { candidateSchema } from '../../operation/result.ts'
import { isSameAddress } from '../../payment/accounts.ts'
import { openChain } from '../../settlement/chain/chain.ts'
import { nonceKey } from '../../settlement/chain/token.ts'
import type { ReceiptClaims } from '../../payment/receipt/claims.ts'
import type { ReceiptCheck } from '../../payment/receipt/verify.ts'
import type { CommandContext } from '../../command-line/context.ts'
import { showProgress } from '../../command-line/progress.ts'

/** Above every block, so that only the transaction of the receipt is read. */
const NO_BLOCK = 2n ** 63n

/** Whether the transaction of the receipt used this nonce and transferred this amount. */
export async function checkTransfer({ payment }: ReceiptClaims, url: string): Promise<ReceiptCheck[]> {
  const check = (passed: boolean, detail: string) => [{ name: 'transfer', passed, detail }]
  const chainId = /^eip155:([1-9][0-9]{0,14})$/.exec(payment.network)?.[1]
  if (chainId === undefined) return check(false, 'the network of the receipt is not an EVM chain')
  const { asset, payer, pay_to: to, amount: value } = payment
  const nonce = nonceKey(asset, { from: payer, nonce: payment.nonce })
  const transaction = payment.transaction.toLowerCase()
  const options = { chainId: Number(chainId), now: () => new Date() }
  try {
    const chain = openChain({ urls: [url], ...options })
    const observation = await chain.observe([nonce], { withFinal: true })
    const use = await chain.findUse({ ...nonce, from: { block: NO_BLOCK }, transaction }, observation)
    if (use.nonce !== 'used' || use.transfer.transaction !== transaction)
      return check(false, `the chain does not show this payment in transaction ${transaction}`)
    const { transfer, isFinal } = use
    const passed =
      isSameAddress(transfer.from, payer) && isSameAddress(transfer.to, to) && transfer.value === BigInt(value)
    const found = `${transfer.value} from ${transfer.from} to ${transfer.to} in transaction ${transaction}`
    return check(passed, `${found}${isFinal ? '' : ', in a block that is not final yet'}`)
  } catch {
    return check(false, 'the node does not answer, or belongs to another chain')
  }
}

/** The companies of each kind of answer (contract 2.3, 2.6, 2.11). */
const singleSchema = z.looseObject({
  company: companySchema.optional(),
  match: candidateSchema.nullish(),
  candidates: z.array(candidateSchema).optional(),
  company_number: z.string().optional(),
  versions: z.array(versionSchema).optional(),
})
const batchSchema = z.looseObject({ results: z.array(z.looseObject({ status: z.number(), body: z.unknown() })) })

interface Claim {
  number: string
  /** Undefined if the archive must not have the number. */
  entry: SnapshotEntry | undefined
}

/**
 * What an answer says about the snapshot `archive`. Undefined if it has another form, so that nothing can be compared.
 */
function claimsAbout(archive: string, snapshotId: string, answer: unknown): Claim[] | undefined {
  const batch = batchSchema.safeParse(answer).data
  if (batch) {
    const answered = batch.results.filter(({ status }) => status === 200)
    const claims = answered.map(({ body }) => claimsAbout(archive, snapshotId, body))
    return claims.every((each) => each !== undefined) ? claims.flat() : undefined
  }
  const parsed = singleSchema.safeParse(answer).data
  if (!parsed) return undefined
  const { company, match, candidates = [], company_number: number = '', versions = [] } = parsed
  const matches = [...(match ? [match] : []), ...candidates].map((each) => each.company)
  const companies = archive === snapshotId ? [...(company ? [company] : []), ...matches] : []
  const seen = versions.filter(
    ({ state, first_seen, last_seen }) =>
      state !== 'erased' && [first_seen.snapshot_id, last_seen?.snapshot_id ?? snapshotId].includes(archive),
  )
  return [
    ...companies.map((each) => ({ number: each.company_number, entry: each })),
    ...seen.map((each) => ({ number, entry: each.state === 'quarantined' ? each.state : (each.company ?? undefined) })),
  ]
}

/** Builds the snapshot of the archive in a temporary folder, and compares its id and its companies. */
export async function checkDataset(
  { snapshot_id }: ReceiptClaims,
  answer: unknown,
  { dataset, context }: { dataset: string; context: Pick<CommandContext, 'now' | 'note' | 'isTerminal'> },
): Promise<ReceiptCheck[]> {
  await using folder = await openTemporaryFolder('verify-')
  const request = { path: resolve(dataset), dataDirectory: folder.path, importedAt: context.now().toISOString() }
  const info = await openBuildProcesses().build(request, { onProgress: showProgress(context) })
  const claims = claimsAbout(info.snapshot_id, snapshot_id, answer)
  // A history also names the snapshots of earlier files.
  const isNamed = info.snapshot_id === snapshot_id || (claims !== undefined && claims.length > 0)
  const check = { name: 'dataset', passed: isNamed, detail: `the archive has ${info.snapshot_id}` }
  return isNamed ? [check, await checkRecords(snapshotFolder(folder.path, info.snapshot_id), claims)] : [check]
}

async function checkRecords(folder: string, claims: Claim[] | undefined): Promise<ReceiptCheck> {
  const snapshot = openSnapshot(folder)
  try {
    // The synthetic company is beside the dataset (contract 1.7).
    const find = (number: string) =>
      number === SYNTHETIC_COMPANY.company_number ? SYNTHETIC_COMPANY : snapshot.find(number)
    if (!claims)
      return { name: 'records', passed: false, detail: 'the answer has another form than this version expects' }
    const differing = claims.filter(({ number, entry }) => !isDeepStrictEqual(find(number), entry))
    const numbers = differing.map(({ number }) => number).join(', ')
    const detail =
      numbers === '' ? `${claims.length} companies as in the archive` : `differ from the archive: ${numbers}`
    return { name: 'records', passed: differing.length === 0, detail }
  } finally {
    await snapshot.close()
  }
}
