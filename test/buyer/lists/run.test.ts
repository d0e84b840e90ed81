/** The buyer of rows, with the real service and real payments. */
import { expect } from 'chai'
import { RUNTIME, type Buy } from '../../../buyer/library/buy.ts'
import { folderStorage } from '../../../buyer/library/folder-storage.ts'
import { addBatches } from '../../../buyer/lists/plan.ts'
import { rowKey, type PurchasedRows } from '../../../buyer/lists/purchased-rows.ts'
import { createRowBuyer, openListBuyer } from '../../../buyer/lists/run.ts'
import type { Operation } from '../../../agent/operation/operation.ts'
import { operationOf } from '../../support/operations.ts'
import { startTestService } from '../../support/service.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { useService } from '../../support/use-service.ts'

/** More than stay in memory. */
const BATCHES = 9

describe('the buyer of rows', function () {
  this.timeout(60_000)
  const { service } = useService(() => startTestService())

  /** Counts the calls of the buyer, which checks a receipt in each. */
  async function openRows(batches: readonly (readonly Operation[])[] = []) {
    const { url: baseUrl, buyerKey: key } = service
    const storage = folderStorage(await makeTemporaryDirectory())
    const buyList = openListBuyer({ baseUrl, key, mode: 'testnet', folder: storage, runtime: RUNTIME })
    const counted = { calls: 0 }
    const buy: Buy = (...call) => {
      counted.calls += 1
      return buyList(...call)
    }
    const purchased: PurchasedRows = { rows: new Map(), refused: new Set(), all: [], open: [] }
    for (const batch of batches)
      addBatches(new Map(batch.map((each) => [rowKey(baseUrl, each), each])), purchased, baseUrl)
    const buyRow = createRowBuyer({ baseUrl, buy, runtime: RUNTIME, storage, purchased })
    return { counted, buy: (operation: Operation) => buyRow({ listed: { kind: 'valid' }, operation }) }
  }

  const lookup = (company_number: string) => operationOf({ operation: 'lookup', input: { company_number } })

  it('reads a row that it has bought alone without another check', async () => {
    const { counted, buy } = await openRows()
    const bought = await buy(lookup('73848'))
    expect(bought.kind).to.equal('found')
    expect(await buy(lookup('73848'))).to.deep.equal(bought)
    expect(counted.calls).to.equal(1)
  })

  it('reads a batch that it has bought, and that is not in memory, without another check', async () => {
    const numbers = (at: number) => [lookup(at === 0 ? '73848' : String(900_000 + at)), lookup(String(800_000 + at))]
    const { counted, buy } = await openRows(Array.from({ length: BATCHES }, (_, at) => numbers(at)))
    const bought = await buy(lookup('73848'))
    expect(bought.kind).to.equal('found')
    for (let at = 1; at < BATCHES; at += 1) await buy(lookup(String(900_000 + at)))
    const { calls } = counted
    expect(await buy(lookup('73848'))).to.deep.equal(bought)
    expect(await buy(lookup('800000'))).to.include({ kind: 'refused', code: 'company_not_found' })
    expect(counted.calls).to.equal(calls)
  })
})
