/**
 * The items of a batch: one snapshot, slices that let other work run, and the limits of time and size (contract 4.11).
 */
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import type { Operation } from '../../../agent/operation/operation.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import type { SkillContext } from '../../../agent/answer/registers.ts'
import { prepareBatch } from '../../../agent/answer/prepare-batch.ts'
import { answerBody, openTestRegister, slowClock, type TestRegister } from '../../support/companies.ts'

const lookups = (...numbers: string[]): Operation[] =>
  numbers.map((company_number) => ({ operation: 'lookup', input: { company_number } }))

describe('the items of a batch', () => {
  let register: TestRegister

  beforeEach(async () => {
    const address = 'A'.repeat(7_000)
    const rows = Array.from({ length: 10 }, (_, at) => ({ number: `1${at}`, name: 'Long Address Limited', address }))
    register = await openTestRegister([{ number: '1', name: 'One Limited' }, ...rows])
  })

  const prepare = (items: readonly Operation[], change: Partial<SkillContext> = {}) =>
    prepareBatch(items, {
      skill: () => ({ ...register.context, ...change }),
      operations: OPERATIONS,
      enter: async () => ({ [Symbol.dispose]: () => undefined }),
    })

  it('[4.11.3] are read from one snapshot, which is closed only afterwards', async () => {
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

  it('[4.11.5] let other work run between slices of some milliseconds', async () => {
    const prepared = prepare(lookups('1', '10', '11', '12', '13'), { now: ticking(5) })
    let turns = 0
    const count = () => {
      turns += 1
      counting = globalThis.setImmediate(count)
    }
    let counting = globalThis.setImmediate(count)
    await prepared
    clearImmediate(counting)
    expect(turns).to.be.at.least(3)
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

  it('[4.11.5] that take too long together are refused, and the item is named', async () => {
    const prepared = await prepare(lookups(...Array<string>(100).fill('1')), { now: slowClock() })
    expect(prepared).to.deep.include({ refusal: { code: 'query_too_broad', detail: 'inputs[5]' } })
    await register.close()
  })

  it('[4.11.4] refuse the batch if the query of one is too broad', async () => {
    const items = [...lookups('1'), { operation: 'resolve', input: { name: 'Long Addres Limited' } }]
    const prepared = await prepare(items, { now: ticking(700) })
    expect(prepared).to.deep.include({ refusal: { code: 'query_too_broad', detail: 'inputs[1]' } })
    await register.close()
  })
})

/** A clock that advances by some milliseconds between two readings. */
function ticking(milliseconds: number): () => Date {
  let time = 0
  return () => new Date((time += milliseconds))
}
