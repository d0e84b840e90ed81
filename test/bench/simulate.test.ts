/** The simulation: a seed replays a run exactly, and some runs keep every invariant. */
import { expect } from 'chai'
import { runAll } from './simulate.ts'
import { run } from './simulate/run.ts'

const SEEDS = 100

describe('the simulation', () => {
  it('replays a run from its seed', async () => {
    const [one, other] = [
      await run({ seed: 77, seen: new Map(), isTraced: true }),
      await run({ seed: 77, seen: new Map(), isTraced: true }),
    ]
    expect(one.lines.length).to.be.greaterThan(20)
    expect(other).to.deep.equal(one)
  })

  for (const serverCount of [1, 2, 3]) {
    it(`breaks no invariant with ${serverCount} servers on one log`, async () => {
      const seen = new Map<string, number>()
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const { broken } = await run({ seed, seen, serverCount })
        expect(broken?.message, `seed ${seed}`).to.equal(undefined)
      }
      for (const fault of [
        'crash: of a process',
        'reorganisation of depth 2',
        'a third party is faster',
        'store: the disk is full',
        'a payment id is used for another payment',
        'a server stops gracefully',
      ])
        expect(seen.get(`fault ${fault}`), fault).to.be.greaterThan(0)
      for (const change of [
        'prepared -> settled',
        'settling -> settled',
        'unknown -> settled',
        'unknown -> settling',
        'settled -> confirmed',
      ])
        expect(seen.get(`state ${change}`), change).to.be.greaterThan(0)
    })
  }

  it('gives the same result with two threads as with one', async () => {
    const seen = new Map<string, number>()
    let steps = 0
    for (let seed = 1; seed <= 40; seed += 1) steps += (await run({ seed, seen })).steps
    const progress: number[] = []
    const all = await runAll({
      first: 1,
      seeds: 40,
      workers: 2,
      serverCount: undefined,
      batch: 7,
      onProgress: (total) => void progress.push(total.seeds),
    })
    expect(all).to.deep.equal({ seeds: 40, steps, seen, broken: [] })
    expect(progress).to.have.length(6)
    expect(progress.at(-1)).to.equal(40)
  })

  it('removes old final records', async () => {
    const seen = new Map<string, number>()
    for (let seed = 1; seed <= SEEDS; seed += 1) await run({ seed, seen })
    for (const state of ['confirmed -> removed', 'a server has stopped gracefully', '20 days pass'])
      expect(seen.get(`state ${state}`), state).to.be.greaterThan(0)
  })

  it('crashes servers', async () => {
    const lines: string[] = []
    for (let seed = 1; seed <= 20; seed += 1) {
      lines.push(...(await run({ seed, seen: new Map(), isTraced: true })).lines)
    }
    expect(lines.some((line) => line.includes('CRASHES'))).to.equal(true)
  })
})
