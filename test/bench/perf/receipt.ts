/** The receipt of a lookup in process: digest of the answer, claims and signature, beside a whole paid lookup. */
import { issueReceipt } from '../../../agent/payments/receipts.ts'
import { signReceipt } from '../../../agent/receipt/sign.ts'
import { makeRecord } from '../../support/records.ts'
import { makeReceiptKey } from '../../support/signed-receipt.ts'
import { WORKLOADS } from '../load/workloads.ts'
import { median } from '../statistics.ts'
import { SERVICE, type HttpBench } from './http-rounds.ts'
import { withBaseline, type PerfRow, type PerfSize } from './perf-row.ts'

const RECEIPTS_PER_ROUND = 1_000
const TRANSACTION = `0x${'ab'.repeat(32)}`

/** @param paidMicroseconds CPU time of one paid lookup in the same run */
export async function measureReceipt(bench: HttpBench, size: PerfSize, paidMicroseconds: number): Promise<PerfRow> {
  const record = makeRecord({
    body: await buyAnswer(bench),
    operation: { operation: 'lookup', input: { company_number: bench.corpus.companyNumbers[0] } },
  })
  const key = await makeReceiptKey()
  const services = {
    signReceipt: (claims: Parameters<typeof signReceipt>[0]) => signReceipt(claims, key),
    now: () => new Date(),
    report: () => undefined,
  }
  const issue = () => issueReceipt(services as unknown as Parameters<typeof issueReceipt>[0], record, TRANSACTION)
  const round = async (count: number) => {
    const before = process.cpuUsage()
    for (let made = 0; made < count; made += 1)
      if ((await issue()) === undefined) throw new Error('No receipt was made')
    const { user, system } = process.cpuUsage(before)
    return (user + system) / count
  }
  await round(Math.ceil(size.warmUpRequests / 2))
  const rounds: number[] = []
  for (let each = 0; each < size.rounds; each += 1)
    rounds.push(await round(Math.ceil(RECEIPTS_PER_ROUND * size.requestShare)))
  return withBaseline('receipt cpu', median(rounds), { name: 'paid lookup', value: paidMicroseconds })
}

async function buyAnswer({ servers, corpus }: HttpBench): Promise<string> {
  const [request] = WORKLOADS['paid lookup'].build(corpus, 1)
  const response = await fetch(`${servers.get(SERVICE)?.url}${request?.path}`, { headers: request?.headers ?? {} })
  if (response.status !== 200) throw new Error(`A lookup got ${response.status}`)
  return response.text()
}
