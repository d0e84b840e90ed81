/** The command `payments recheck`, on a real response log and a scripted chain. */
import { expect } from 'chai'
import type { Chain } from '../../../agent/settlement/chain/chain.ts'
import { WrongChain } from '../../../agent/settlement/rpc/json-rpc.ts'
import type { ObservedPayment } from '../../../agent/settlement/chain/view.ts'
import type { NonceState } from '../../../agent/settlement/decide.ts'
import { observationOf, WORKING } from '../../support/fake-chain.ts'
import { recheckPayment } from '../../../operator/cli/recheck-payment.ts'
import { LmdbResponseLog } from '../../../store/log/lmdb-responses.ts'
import type { ResponseLog } from '../../../store/log/responses.ts'
import { BUYER, makeRecord, RECEIVER, storeRecord } from '../../support/records.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const transaction = `0x${'ab'.repeat(32)}`
const PAID: NonceState = {
  nonce: 'used',
  transfer: { from: BUYER, to: RECEIVER, value: 1000n, transaction },
  isFinal: false,
}
const PAID_FINAL: NonceState = { ...PAID, isFinal: true }
/** Ahead of the local clock, in seconds. */
const BLOCK_TIME = 4_000_000_000n

describe('payments recheck', () => {
  let log: ResponseLog
  let queries: Parameters<Chain['findUse']>[0][]
  let observed: ObservedPayment[]
  let lines: string[]

  beforeEach(async () => {
    log = new LmdbResponseLog(await makeTemporaryDirectory())
    queries = []
    observed = []
    lines = []
  })
  afterEach(() => log.close())

  function recheck(identity: string, shown: NonceState[], fromBlock?: bigint, nodeCount = 1): Promise<boolean> {
    const chain: Chain = {
      ...WORKING,
      nodeCount,
      observe: async (payments, { node = 0 } = {}) => {
        if (node > 0) throw new WrongChain()
        observed.push(...payments)
        const states = [{ isNonceUsed: shown[0]?.nonce !== 'free' }]
        const final = { number: 100n, time: shown[0]?.nonce === 'free' ? shown[0].finalTime : BLOCK_TIME }
        return { ...observationOf(new Date(), payments, states), time: BLOCK_TIME, final }
      },
      findUse: async (query) => {
        queries.push(query)
        const found = shown[Math.min(queries.length, shown.length) - 1] as NonceState
        return found.nonce === 'free' ? { nonce: 'unclear' } : found
      },
    }
    const print = (line: string) => void lines.push(line)
    const report = () => undefined
    return recheckPayment({ log, chain, now: () => new Date(), report, print, identity, fromBlock })
  }

  it('[14.20] changes nothing from a chosen block if a node belongs to another chain', async () => {
    const record = makeRecord({ state: 'unknown' })
    await storeRecord(log, record)
    const outcome = await recheck(record.identity, [PAID], 7n, 2).catch((error: unknown) => error)
    expect(outcome).to.be.instanceOf(WrongChain)
    expect(await log.read(record.identity)).to.deep.equal(record)
  })

  it('[14.20] makes a prepared record settled if the transfer is there', async () => {
    const record = makeRecord({ state: 'prepared' })
    await storeRecord(log, record)
    expect(await recheck(record.identity.toUpperCase(), [PAID])).to.equal(true)
    expect((await log.read(record.identity))?.state).to.equal('settled')
    expect(await log.unfinished()).to.deep.equal([record.identity])
    expect(lines).to.include('the record was prepared and is settled')
  })

  it('[14.20] makes a rejected record confirmed if the block of the transfer is final', async () => {
    const record = makeRecord({ state: 'rejected', from_block_hash: `0x${'cd'.repeat(32)}` })
    await storeRecord(log, record)
    expect(await recheck(record.identity, [PAID_FINAL], 5n)).to.equal(true)
    const after = await log.read(record.identity)
    expect(after).to.include({
      state: 'confirmed',
      updated_at: new Date(Number(BLOCK_TIME) * 1000).toISOString(),
    })
    expect(Buffer.from(after?.payment_response ?? '', 'base64').toString()).to.include(transaction)
    expect(await log.unfinished()).to.deep.equal([])
    expect(lines).to.include('the record was rejected and is confirmed')
  })

  it('[14.20] changes nothing if the transfer is not there', async () => {
    const record = makeRecord({ state: 'unknown' })
    await storeRecord(log, record)
    const other: NonceState = { ...PAID, transfer: { ...PAID.transfer, value: 999n } }
    for (const found of [
      other,
      { nonce: 'cancelled', isFinal: true },
      { nonce: 'free', time: 0n, finalTime: 2n ** 40n },
    ]) {
      expect(await recheck(record.identity, [found as NonceState])).to.equal(false)
    }
    expect(await log.read(record.identity)).to.deep.equal(record)
    expect(await recheck('none', [PAID])).to.equal(false)
  })

  it('[14.20] continues an unfinished search', async () => {
    const record = makeRecord({ state: 'unknown' })
    await storeRecord(log, record)
    expect(await recheck(record.identity, [{ nonce: 'unclear' }, { nonce: 'unclear' }, PAID])).to.equal(true)
    expect(queries).to.have.lengthOf(3)
  })

  it('[14.20] checks the recorded block unless the operator names another one', async () => {
    const record = makeRecord({ state: 'unknown', from_block: '70', from_block_hash: transaction })
    await storeRecord(log, record)
    const recheckSpent = recheck(record.identity, [{ nonce: 'cancelled', isFinal: true }])
    expect(await recheckSpent.catch((error: unknown) => (error as Error).name)).to.equal('WrongChain')
    expect(observed.map(({ recordedBlock }) => recordedBlock)).to.deep.equal([70n])
    expect(await recheck(record.identity, [PAID], 5n)).to.equal(true)
    expect(queries.at(-1)?.from).to.deep.equal({ block: 5n })
  })
})
