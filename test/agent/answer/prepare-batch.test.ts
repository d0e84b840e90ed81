/**
 * The items of a batch: one snapshot, slices that let other work run, and the limits of time and size (contract 4.11).
 */
import { singleOf } from '../../support/operations.ts'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { lookup } from '../../../agent/operation/lookup.ts'
import type { Operation, SingleDefinition } from '../../../agent/operation/operation.ts'
import { resolve } from '../../../agent/operation/resolve.ts'
import type { AnswerContext } from '../../../agent/answer/registers.ts'
import { prepareBatch } from '../../../agent/answer/prepare-batch.ts'
import { Journal } from '../../../store/history/journal.ts'
import { SYNTHETIC_COMPANY } from '../../../store/dataset/synthetic.ts'
import { recordFiles } from '../../support/journal.ts'
import { replaceMethods } from '../../support/replace-methods.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { answerBody, openTestRegister, type TestRegister } from '../../support/companies.ts'

type Items = Operation<SingleDefinition>[]

const lookups = (...numbers: string[]): Items =>
  numbers.map((company_number) => ({ definition: lookup, input: { company_number } }))

describe('the items of a batch', () => {
  let register: TestRegister
  let steps: string[]
  /** The slices for which there is a place. */
  let places: number

  beforeEach(async () => {
    steps = []
    places = Infinity
    const address = 'A'.repeat(7_000)
    const rows = Array.from({ length: 10 }, (_, at) => ({ number: `1${at}`, name: 'Long Address Limited', address }))
    register = await openTestRegister([{ number: '1', name: 'One Limited' }, ...rows])
  })

  const prepare = (items: Items, change: Partial<AnswerContext> = {}) =>
    prepareBatch(items, {
      openContext: () => ({ ...register.context, ...change }),
      enter: async () => (places-- > 0 ? { [Symbol.dispose]: () => void steps.push('leaves') } : undefined),
      letOthersConnect: async () => {
        steps.push('waits')
        await setImmediate()
      },
    })

  it('[4.11.6] are read from one snapshot, which is closed only afterwards', async () => {
    let closed = false
    const prepared = prepare(lookups('1', '10', '11'), { now: ticking(5) })
    // The snapshot is held when the batch has its place.
    for (let step = 0; step < 3; step += 1) await Promise.resolve()
    const close = register.close().then(() => (closed = true))
    await setImmediate()
    expect(closed).to.equal(false)
    expect(JSON.parse(answerBody(await prepared)))
      .to.have.property('results')
      .with.length(3)
    await close
  })

  it('[4.11.6] are read from one state of the journal, which is pinned once and then released', async () => {
    const directory = await makeTemporaryDirectory()
    const entries = { '7': { ...SYNTHETIC_COMPANY, company_number: '7' } }
    await recordFiles(directory, [{ updated: '2026-01-02', entries }])
    const journal = new Journal(directory)
    const events: string[] = []
    const pin = () => {
      const pinned = journal.pin()
      const release = pinned.close.bind(pinned)
      events.push('pin')
      return Object.assign(pinned, { close: () => (events.push('release'), release()) })
    }
    const items = Array.from({ length: 3 }, () => ({
      definition: singleOf('as_of'),
      input: { company_number: '7', date: '2026-01-03' },
    }))
    let time = Date.parse('2026-01-04')
    // Each item ends its slice, so that an import could record a file between any two of them.
    const prepared = await prepare(items, {
      journal: () => replaceMethods(journal, { pin }),
      now: () => new Date((time += 5)),
    })
    const { results } = JSON.parse(answerBody(prepared)) as { results: { http_status: number }[] }
    expect(results.map((each) => each.http_status)).to.deep.equal([200, 200, 200])
    expect(events).to.deep.equal(['pin', 'release'])
    await journal.close()
    await register.close()
  })

  it('[4.11.5] take at most five milliseconds between other work, if each takes one', async () => {
    let readings = 0
    const prepared = prepare(lookups(...Array<string>(100).fill('1')), { now: () => new Date((readings += 1)) })
    const slices = [readings]
    let before = readings
    const count = () => {
      slices.push(readings - before)
      before = readings
      counting = globalThis.setImmediate(count)
    }
    let counting = globalThis.setImmediate(count)
    await prepared
    clearImmediate(counting)
    // The clock advances one millisecond per reading, and is read before and after each item.
    expect(readings).to.equal(200)
    expect(Math.max(...slices)).to.equal(10)
    await register.close()
  })

  it('keep their place after a slice until connections are accepted', async () => {
    await prepare(lookups(...Array<string>(11).fill('1')), { now: ticking(1) })
    expect(steps).to.deep.equal(['waits', 'leaves', 'waits', 'leaves', 'leaves'])
    await register.close()
  })

  it('are refused if their client has left meanwhile', async () => {
    places = 1
    const prepared = await prepare(lookups(...Array<string>(11).fill('1')), { now: ticking(1) })
    expect(prepared).to.deep.include({ refusal: { code: 'overloaded' } })
    expect(steps).to.deep.equal(['waits', 'leaves'])
    await register.close()
  })

  it('[4.11.5] that take too long together are refused, and the item is named', async () => {
    const prepared = await prepare(lookups(...Array<string>(100).fill('1')), { now: ticking(1_000) })
    expect(prepared).to.deep.include({ refusal: { code: 'query_too_broad', detail: 'inputs[5]', field: 'inputs[5]' } })
    await register.close()
  })

  it('[4.11.4] refuse the batch if the query of one is too broad', async () => {
    const items = [...lookups('1'), { definition: resolve, input: { name: 'Long Addres Limited' } }]
    let readings = 0
    // The query reads the clock for the fourth and the fifth time.
    const prepared = await prepare(items, { now: () => new Date((readings += 1) < 5 ? 0 : 2_001) })
    expect(prepared).to.deep.include({ refusal: { code: 'query_too_broad', detail: 'inputs[1]', field: 'inputs[1]' } })
    await register.close()
  })
})

/** A clock that advances by some milliseconds between two readings. */
function ticking(milliseconds: number): () => Date {
  let time = 0
  return () => new Date((time += milliseconds))
}
