/** What a list may cost: in any states of its purchases, a run signs at most what it has announced. */
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodePaymentSignatureHeader, encodePaymentRequiredHeader } from '@x402/core/http'
import { expect } from 'chai'
import fc from 'fast-check'
import { describePlan, reviewKey, type Plan } from '../../../buyer/lists/plan.ts'
import { buildRequirements } from '../../../agent/payment/terms.ts'
import { runCommand } from '../../support/cli.ts'
import { priceOf } from '../../support/operations.ts'
import { testTerms } from '../../support/payments.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const BASE = 'http://127.0.0.1:4021'
const NAMES = ['Alpha Limited', 'Beta Limited', 'Gamma Limited', 'Delta Limited']

const runs = fc.array(
  fc.record({
    names: fc.subarray(NAMES, { minLength: 1 }),
    /** Each name has a number too, so that it can be asked again without it. */
    isNumbered: fc.boolean(),
    /** The answers to payments, in turn. */
    answers: fc.array(
      fc.constantFrom(
        { status: 402, code: 'payment_rejected' },
        { status: 402, code: 'payment_failed' },
        { status: 404, code: 'company_not_found' },
        { status: 400, code: 'invalid_body' },
        { status: 409, code: 'payment_already_settled' },
        { status: 504, code: 'x' },
        { status: 520, code: 'x' },
      ),
      { minLength: 1, maxLength: 4 },
    ),
    isBatched: fc.boolean(),
    isConfirmed: fc.boolean(),
    agrees: fc.boolean(),
    /** How far the clock goes on before the run, and each time it is read. */
    pause: fc.constantFrom(0, 400_000),
    step: fc.constantFrom(0, 50_000),
  }),
  { minLength: 1, maxLength: 4 },
)
type Run = typeof runs extends fc.Arbitrary<(infer T)[]> ? T : never

/** A payment that is open when the list is priced turns out to have ended unsold. */
const ENDED = ['payment_rejected', 'payment_failed'].map((code) => ({
  names: ['Delta Limited'],
  isNumbered: false,
  answers: [{ status: 402, code }],
  isBatched: false,
  isConfirmed: true,
  agrees: false,
  pause: 0,
  step: 0,
}))

describe('[15.23] a list', () => {
  it('signs at most what it has announced, and nothing without a confirmation', async function () {
    this.timeout(120_000)
    const property = fc.asyncProperty(runs, async (all) => {
      const directory = await makeTemporaryDirectory()
      const nonces = new Map<string, number>()
      const clock = { now: Date.parse('2026-11-25T12:00:00Z') }
      for (const run of all) await checkRun(run, { directory, nonces, clock })
      await rm(directory, { recursive: true })
    })
    await fc.assert(property, { numRuns: 30, examples: [[ENDED]] })
  })

  it('says for each row what is done', () => {
    const known = { kind: 'none' }
    const asking = Array.from({ length: 6 }, () => ({ operation: {}, known: undefined }))
    const describe = (rows: object[], counts: Partial<Plan>) =>
      describePlan({ rows, paid: 0, open: 0, toPay: 0, againMax: 0, ...counts } as Plan)
    expect(describe(asking.slice(0, 1), { toPay: 1 })).to.equal('1 row: 1 to buy.')
    expect(describe(asking, { toPay: 5 })).to.equal('6 rows: 5 to buy, 1 equal to another.')
    expect(describe([...asking, { known }, { operation: {}, known }, {}], { toPay: 1, paid: 2, open: 1 })).to.equal(
      '9 rows: 1 to buy, 2 paid before, 1 open, 2 decided before, 2 equal to another, 1 left out.',
    )
    expect(describe([], {})).to.equal('0 rows: none to buy.')
  })

  it('signs no second payment for a chosen number that no company has, also when the first one has ended', async () => {
    const directory = await makeTemporaryDirectory()
    const [file, keyFile, review] = ['list.csv', 'buyer.key', 'review.csv'].map((name) => join(directory, name))
    await writeFile(file!, 'name\nAlpha Limited\n')
    await writeFile(keyFile!, `0x${'42'.repeat(32)}`, { mode: 0o600 })
    await writeFile(review!, `key,chosen_number\n${reviewKey({ name: 'Alpha Limited' })},900001\n`)
    const nonces = new Map<string, number>()
    for (const answer of [
      { status: 404, code: 'company_not_found' },
      { status: 402, code: 'payment_failed' },
    ]) {
      const list = ['reconcile', file!, '--column', 'name', '--review', review!, '--yes']
      const { code, stderr } = await runCommand(['client', '--url', BASE, '--key-file', keyFile!, ...list], {
        environment: { DATA_DIR: directory },
        fetch: serviceWith([answer], nonces),
      })
      expect([code, nonces.size], stderr).to.deep.equal([0, 1])
    }
  })
})

interface World {
  directory: string
  /** The amounts of the payments that were sent. */
  nonces: Map<string, number>
  clock: { now: number }
}

async function checkRun(run: Run, { directory, nonces, clock }: World): Promise<void> {
  const file = join(directory, 'list.csv')
  const lines = run.names.map((name, at) => (run.isNumbered ? `${name},${at + 1}` : name))
  await writeFile(file, [run.isNumbered ? 'name,CRO' : 'name', ...lines, ''].join('\n'))
  const keyFile = join(directory, 'buyer.key')
  await writeFile(keyFile, `0x${'42'.repeat(32)}`, { mode: 0o600 })
  clock.now += run.pause
  const paidBefore = sum(nonces)
  let questions = 0
  const change = {
    environment: { DATA_DIR: directory },
    fetch: serviceWith(run.answers, nonces),
    now: () => new Date((clock.now += run.step)),
    confirm: async () => (questions += 1) > 0 && run.agrees,
  }
  const flags = [...(run.isConfirmed ? ['--yes'] : []), ...(run.isBatched ? ['--batch'] : [])]
  const columns = ['--column', 'name', '--number-column', run.isNumbered ? 'CRO' : 'none']
  const list = ['reconcile', file, ...columns, '--out', join(directory, 'out.csv'), ...flags]
  const { text } = await runCommand(['client', '--url', BASE, '--key-file', keyFile, ...list], change)
  const announced = Number(/At most (\S+) USDC/.exec(text)?.[1] ?? 0) * 1_000_000
  const isAllowed = run.isConfirmed || (questions > 0 && run.agrees)
  expect(sum(nonces) - paidBefore).to.be.at.most(isAllowed ? Math.round(announced) : 0)
}

/** Answers the payments in turn, and notes their amounts by nonce. */
function serviceWith(answers: readonly { status: number; code: string }[], nonces: World['nonces']): typeof fetch {
  let sent = 0
  return async (input, init) => {
    const { url } = new Request(input)
    if (url.endsWith('/meta')) return Response.json({ access: { pay_to: testTerms.payTo } })
    const payment = new Headers(init?.headers).get('PAYMENT-SIGNATURE')
    if (payment === null) {
      const inputs = url.endsWith('/batch') ? (JSON.parse(init?.body as string) as { inputs: unknown[] }).inputs : [1]
      const price = priceOf(url.includes('/company/') ? 'lookup' : 'resolve')
      const accepts = [buildRequirements(testTerms, inputs.length * price)]
      const quote = encodePaymentRequiredHeader({ x402Version: 2, resource: { url }, accepts })
      return Response.json({}, { status: 402, headers: { 'PAYMENT-REQUIRED': quote } })
    }
    const { payload } = decodePaymentSignatureHeader(payment)
    const { nonce, value } = (payload as { authorization: { nonce: string; value: string } }).authorization
    nonces.set(nonce, Number(value))
    const { status, code } = answers[(sent += 1) % answers.length] ?? { status: 402, code: 'x' }
    return Response.json({ error: { code } }, { status })
  }
}

const sum = (nonces: World['nonces']) => [...nonces.values()].reduce((total, amount) => total + amount, 0)
