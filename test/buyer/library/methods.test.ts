/** The methods of the operations: their options, their receipts, their pages, and the errors of wrong calls. */
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import {
  ConfigurationError,
  createBuyer,
  listPurchases,
  PurchaseError,
  verifyReceipt,
  type BuyerOptions,
  type ChangesResponse,
  type MethodOptions,
  type PagesCall,
} from '../../../buyer/library/buyer.ts'
import { folderStorage } from '../../../buyer/library/folder-storage.ts'
import { listNames } from '../../../buyer/library/purchase-file.ts'
import { OPERATIONS } from '../../../agent/operation/operations.ts'
import { toUsdc } from '../../../agent/payment/terms.ts'
import { startTestService } from '../../support/service.ts'
import { startWatchedService } from '../../support/watched-registers.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { useService } from '../../support/use-service.ts'

const COMPANY = '73848'
/** Of a single answer of the test service, in micro-USDC. */
const PRICE = 1000

describe("the methods of the buyer's library", () => {
  const { service } = useService(() => startTestService())
  let folder: string

  beforeEach(async () => {
    folder = await makeTemporaryDirectory()
  })

  const open = (send: typeof fetch = fetch, change: Partial<BuyerOptions> = {}) =>
    createBuyer({
      url: service.url,
      key: service.buyerKey,
      folder,
      runtime: { fetch: send, sleep: async () => undefined, now: () => new Date() },
      ...change,
    })
  const paysTimes = async (count: number, work: () => Promise<unknown>) =>
    expect(await service.transfersOf(work)).to.equal(count)
  const failureOf = (work: PromiseLike<unknown>) =>
    Promise.resolve(work).then(
      () => expect.fail('no failure'),
      (cause: unknown) => {
        if (cause instanceof PurchaseError || cause instanceof ConfigurationError) return cause
        throw cause
      },
    )
  const isPaying = (init?: RequestInit) => new Headers(init?.headers).has('PAYMENT-SIGNATURE')
  describe('options of a call', () => {
    it('[15.7] signs nothing after the signal or the time of the call, and gives the reason as the cause', () =>
      paysTimes(0, async () => {
        const stopping = new AbortController()
        const asked: typeof fetch = async (url, init) => {
          stopping.abort(new Error('stopped'))
          return fetch(url, init)
        }
        const stopped = await failureOf(open(asked).lookup(COMPANY, { signal: stopping.signal }))
        expect(stopped.toJSON()).to.deep.include({ code: 'aborted', charged: 'no', next: 'sign', file: undefined })
        expect(stopped.cause).to.have.property('message', 'stopped')
        const never: typeof fetch = () => new Promise(() => undefined)
        const late = await failureOf(open(never).lookup(COMPANY, { timeoutMs: 1 }))
        expect(late.toJSON()).to.deep.include({ code: 'aborted', charged: 'no', file: undefined })
        expect(late.cause).to.have.property('name', 'TimeoutError')
        expect(await listNames(folderStorage(folder))).to.deep.equal([])
      }))

    it('[15.7] ends at once while a wallet waits for its user, and never stores or sends what it signs later', () =>
      paysTimes(0, async () => {
        const stopping = new AbortController()
        let sign: (signature: `0x${string}`) => void = () => undefined
        const signTypedData = () => {
          stopping.abort()
          return new Promise<`0x${string}`>((resolve) => void (sign = resolve))
        }
        const key = { address: service.buyer.address, signTypedData }
        let payments = 0
        const counting: typeof fetch = (url, init) => {
          payments += isPaying(init) ? 1 : 0
          return fetch(url, init)
        }
        const failure = await failureOf(open(counting, { key }).lookup(COMPANY, { signal: stopping.signal }))
        expect(failure).to.include({ code: 'aborted', charged: 'no', file: undefined })
        sign(`0x${'11'.repeat(65)}`)
        await new Promise((resolve) => void setTimeout(resolve, 50))
        expect([payments, (await readdir(folder)).filter((name) => !name.startsWith('receiver'))]).to.deep.equal([
          0,
          [],
        ])
      }))

    it('[15.7] the outcome is unknown, with the file, if a payment was saved by this call or by an earlier one', () =>
      paysTimes(1, async () => {
        const stopping = new AbortController()
        const silent: typeof fetch = (url, init) => {
          if (!isPaying(init)) return fetch(url, init)
          stopping.abort()
          return new Promise(() => undefined)
        }
        for (const options of [{ signal: stopping.signal }, { signal: AbortSignal.abort() }, { timeoutMs: 0 }]) {
          const failure = await failureOf(open(silent).lookup(COMPANY, options))
          expect(failure.toJSON()).to.deep.include({ code: 'aborted', charged: 'unknown', next: 'send' })
          expect(await readdir(folder)).to.include(failure.file?.slice(folder.length + 1))
        }
        expect((await open().lookup(COMPANY)).company.company_number).to.equal(COMPANY)
      }))

    it('[15.7] a call that is aborted before it begins sends nothing', async () => {
      const send: typeof fetch = () => expect.fail('sent')
      const failure = await failureOf(open(send).lookup(COMPANY, { signal: AbortSignal.abort() }))
      expect(failure).to.include({ code: 'aborted', charged: 'no' })
    })

    it('[15.7] says after the file that replaces an ended payment is created that the outcome is unknown', () =>
      paysTimes(1, async () => {
        const whole = folderStorage(folder)
        const refused: typeof fetch = async (url, init) =>
          isPaying(init) ? Response.json({ error: { code: 'payment_failed' } }, { status: 402 }) : fetch(url, init)
        await failureOf(open(refused).lookup(COMPANY))
        const stopping = new AbortController()
        let purchases = 0
        const create = async (name: string, text: string) => {
          if (!/^[0-9a-f]{64}-1\.json$/.test(name)) return whole.create(name, text)
          stopping.abort()
          await new Promise((resolve) => void setImmediate(resolve))
          purchases += 1
          return whole.create(name, text)
        }
        let refusals = 1
        const once: typeof fetch = (url, init) =>
          isPaying(init) && refusals-- > 0 ? refused(url, init) : fetch(url, init)
        const storing = open(once, { folder: { ...whole, create } })
        const failure = await failureOf(storing.lookup(COMPANY, { signal: stopping.signal }))
        expect(failure).to.include({ code: 'aborted', charged: 'unknown' })
        expect(failure.file).to.match(/-1\.json$/)
        expect((await open().lookup(COMPANY)).company.company_number).to.equal(COMPANY)
        expect(purchases).to.equal(1)
      }))

    it('[15.7] its maxAgeSeconds and amountMax win over those of the buyer', () =>
      paysTimes(2, async () => {
        const limited = open(fetch, { maxAgeSeconds: 0, expected: { amountMax: PRICE - 1 } })
        const refused = await failureOf(limited.lookup(COMPANY))
        expect(refused).to.include({ code: 'price_above_limit', charged: 'no' })
        await limited.lookup(COMPANY, { amountMax: PRICE })
        await limited.lookup(COMPANY, { amountMax: PRICE, maxAgeSeconds: 60 })
        expect((await failureOf(limited.lookup(COMPANY))).code).to.equal('price_above_limit')
        expect((await failureOf(open().lookup(COMPANY, { amountMax: 1, maxAgeSeconds: 0 }))).code).to.equal(
          'price_above_limit',
        )
        await limited.lookup(COMPANY, { amountMax: PRICE })
      }))

    it('[15.4, 15.7] names a wrong one, and signs nothing', () =>
      paysTimes(0, async () => {
        for (const [option, value] of [
          ['signal', {}],
          ['timeoutMs', -1],
          ['timeoutMs', 2 ** 31],
          ['maxAgeSeconds', 'x'],
          ['amountMax', 0.01],
        ] as const) {
          const failure = await failureOf(open().lookup(COMPANY, { [option]: value }))
          expect(failure).to.be.instanceOf(ConfigurationError)
          expect(failure.toJSON()).to.deep.include({ code: 'option_invalid', charged: 'no', option })
          expect(failure.advice).to.contain(`Set the option ${option}. It must be`)
        }
        const failure = await failureOf(open().changes({ since: '2026-01-02' }, { totalMax: -1 }))
        expect(failure).to.have.property('option', 'totalMax')
      }))

    it('[15.4] refuses one that does not exist, of a call and of the buyer, which would limit nothing', () =>
      paysTimes(0, async () => {
        const ofCall = await failureOf(open().lookup(COMPANY, { maxAmount: 1 } as object))
        expect(ofCall.toJSON()).to.include({ code: 'option_invalid', charged: 'no', option: 'maxAmount' })
        expect(ofCall.advice).to.match(/^Remove the option maxAmount\. The options there are .*amountMax/)
        for (const [change, option] of [
          [{ amountMax: 1 }, 'amountMax'],
          [{ expected: { amountMaxPerDay: 1 } }, 'expected.amountMaxPerDay'],
        ] as const)
          expect(() => open(fetch, change as object))
            .to.throw(ConfigurationError, 'is no option')
            .with.property('option', option)
        expect(() => open(fetch, { folder: 5 } as object)).to.throw(ConfigurationError, 'folder must be the path')
      }))
  })

  describe('withReceipt', () => {
    it('[15.21] gives the answer, a receipt that verifies, the charged amount and the file, and buys nothing more', () =>
      paysTimes(1, async () => {
        const call = open().lookup(COMPANY)
        const { answer, receipt, receiptCheck, amountCharged, file } = await call.withReceipt()
        expect(await call).to.equal(answer)
        expect({ receiptCheck, amountCharged }).to.deep.equal({ receiptCheck: 'valid', amountCharged: PRICE })
        const keySet: unknown = await (await fetch(`${service.url}/.well-known/jwks.json`)).json()
        expect((await verifyReceipt({ receipt, answer, keySet })).isValid).to.equal(true)
        expect((await verifyReceipt({ receipt, answer: { ...answer, x: 1 }, keySet })).isValid).to.equal(false)
        expect(await readFile(file, 'utf8')).to.contain(COMPANY)
        expect(await open().lookup(COMPANY).withReceipt()).to.deep.include({ receipt, amountCharged, file })
      }))

    it('[15.7] rejects once, without an unhandled rejection of the answer', async () => {
      const unhandled: unknown[] = []
      const note = (cause: unknown) => void unhandled.push(cause)
      process.on('unhandledRejection', note)
      try {
        expect((await failureOf(open().lookup('abc').withReceipt())).code).to.equal('request_unsupported')
        await new Promise((resolve) => void setImmediate(resolve))
        expect(unhandled).to.deep.equal([])
      } finally {
        process.off('unhandledRejection', note)
      }
    })
  })

  describe('wrong input', () => {
    for (const [title, call, field] of [
      ['an unknown field', (buyer: ReturnType<typeof open>) => buyer.resolve({ nam: 'x' } as never), 'nam'],
      ['a wrong field', (buyer: ReturnType<typeof open>) => buyer.lookup('abc'), 'company_number'],
      ['a wrong day', (buyer: ReturnType<typeof open>) => buyer.asOf(COMPANY, 'today'), 'date'],
    ] as const)
      it(`[15.4] the advice about ${title} names it`, async () => {
        const failure = await failureOf(call(open()))
        expect(failure).to.include({ code: 'request_unsupported', charged: 'no' })
        expect(failure.advice).to.contain(`the field ${field}`)
      })

    it('[15.4] without url, the advice names the option', async () => {
      const { url: _, ...options } = {
        url: '',
        key: service.buyerKey,
        folder,
        expected: { amountMax: 1, payTo: service.payTo },
      }
      const failure = await failureOf(createBuyer(options).lookup(COMPANY))
      expect(JSON.parse(JSON.stringify(failure))).to.deep.equal({
        name: 'ConfigurationError',
        code: 'option_invalid',
        message: 'url is missing: the URL of the service',
        charged: 'no',
        option: 'url',
        advice: 'Set the option url. It is missing: the URL of the service.',
      })
    })

    it('[15.4] the advice about a conflict of the data is that of the service, not one about the payment', async () => {
      const refusing: typeof fetch = async (input, init) =>
        isPaying(init)
          ? Response.json({ error: { code: 'source_data_conflict' } }, { status: 409 })
          : fetch(input, init)
      const failure = await failureOf(open(refusing).lookup(COMPANY))
      expect(failure.advice).to.equal('Try again when a newer snapshot is available.')
    })

    it('[15.4] the JSON of a refusal has code, charged, file and advice, and no payment', async () => {
      const failure = await failureOf(open().lookup('999999'))
      const json = JSON.stringify(failure)
      expect(JSON.parse(json)).to.deep.include({
        name: 'PurchaseError',
        code: 'service_refused',
        charged: 'unknown',
        next: 'send',
        outcome: 'not_sold_later',
        file: failure.file,
        advice: failure.advice,
        answer: { status: 404, code: 'company_not_found' },
      })
      const { payment } = JSON.parse(await readFile(failure.file ?? '', 'utf8')) as { payment: string }
      expect(json).not.to.contain(payment)
    })
  })

  it('[15.4] listPurchases says what was bought, in order, and never shows a payment', async () => {
    await open().lookup(COMPANY)
    await failureOf(open().lookup('999999'))
    await writeFile(join(folder, 'damaged.json'), '{}')
    const listed = await listPurchases(folder)
    expect(listed).to.have.length(3)
    const [first] = listed
    const input = { company_number: COMPANY }
    expect(first).to.deep.include({ kind: 'purchase', operation: 'lookup', input, amount: PRICE, charged: 'yes' })
    expect(first).to.deep.include({ outcome: 'sold', payer: service.buyer.address, network: 'eip155:84532' })
    expect(listed[1]).to.deep.include({ kind: 'purchase', outcome: 'not_sold_later', charged: 'unknown', next: 'send' })
    expect(listed[2]).to.deep.equal({ kind: 'unreadable', file: join(folder, 'damaged.json') })
    const { payment } = JSON.parse(await readFile(first?.file ?? '', 'utf8')) as { payment: string }
    const signature = (JSON.parse(atob(payment)) as { payload: { signature: string } }).payload.signature
    for (const secret of [payment, signature]) expect(JSON.stringify(listed)).not.to.contain(secret)
  })

  it('[15.4] the comment of each method has the price and the refusals of its operation', async () => {
    const text = await readFile(fileURLToPath(import.meta.resolve('#root/buyer/library/methods.ts')), 'utf8')
    const comments = new Map(
      [...text.matchAll(/\/\*\*((?:(?!\*\/).)*)\*\/\s+(\w+)[<(]/gs)].map(([, comment = '', name = '']) => [
        name,
        comment,
      ]),
    )
    for (const { name, kind, refusals, ...definition } of OPERATIONS) {
      const comment = comments.get(name.replace('_of', 'Of')) ?? expect.fail(name)
      for (const code of refusals) expect(comment, name).to.contain(`\`${code}\``)
      expect(comment, name).to.contain('@example')
      if (kind === 'single' && 'prices' in definition)
        expect(comment, name).to.contain(`Costs ${toUsdc(definition.prices.mainnet)} USDC`)
    }
  })
})

describe('[15.21] the pages of an answer', () => {
  let watched: Awaited<ReturnType<typeof startWatchedService>>
  let folder: string
  let since: string

  before(async () => {
    watched = await startWatchedService()
    await watched.importNext()
    const buyer = createBuyer({ ...optionsOf(), folder: await makeTemporaryDirectory() })
    since = (await buyer.history('1001')).complete_since
  })
  after(() => watched.service.stop())
  beforeEach(async () => {
    folder = await makeTemporaryDirectory()
  })

  const optionsOf = () => ({ url: watched.service.url, key: watched.service.buyerKey, folder })
  /** Three pages. */
  const pagesOf = (totalMax: number, more: MethodOptions = {}) =>
    createBuyer(optionsOf()).changes({ since, limit: 3 }, { totalMax, ...more })
  /** The companies of each page, and the code of what ended the iteration. */
  const readAll = async (pages: AsyncIterable<ChangesResponse>) => {
    const read: string[] = []
    try {
      for await (const { changes } of pages) read.push(changes.map(({ company_number }) => company_number).join(' '))
    } catch (cause) {
      read.push((cause as PurchaseError).code)
    }
    return read
  }
  const PAGES = ['1001 1002 1003', '1004 1005 1006', '1007 1290']

  it('are paid when they are asked for, up to totalMax, also when a later process begins again', async () => {
    const reads = async (totalMax: number, expected: string[], transfers: number) => {
      const paid = await watched.service.transfersOf(async () => {
        expect(await readAll(pagesOf(totalMax))).to.deep.equal(expected)
      })
      expect(paid).to.equal(transfers)
    }
    await reads(PRICE - 1, ['allowance_used'], 0)
    await reads(2 * PRICE, [...PAGES.slice(0, 2), 'allowance_used'], 2)
    await reads(3 * PRICE - 1, [...PAGES.slice(0, 2), 'allowance_used'], 0)
    await reads(3 * PRICE, PAGES, 1)
    // What was bought before is returned, and nothing is signed.
    await reads(0, PAGES, 0)
  })

  it('are paid once by one call that is read again, whatever maxAgeSeconds is', async () => {
    const pages = pagesOf(3 * PRICE, { maxAgeSeconds: 0 })
    const paid = await watched.service.transfersOf(async () => {
      for await (const { changes } of pages) if (changes.length > 0) break
      expect(await readAll(pages)).to.deep.equal(PAGES)
      expect(await readAll(pages)).to.deep.equal(PAGES)
    })
    expect(paid).to.equal(3)
  })

  it('end with the last version of a history, whose first page is also the answer', async () => {
    const call = createBuyer(optionsOf()).history('1001', { totalMax: PRICE })
    const versions = []
    for await (const page of call) versions.push(...page.versions)
    expect((await call).versions).to.deep.equal(versions)
    expect(versions.map(({ company }) => company?.legal_name)).to.deep.equal(['NUMBER 1001', 'RENAMED <b>& CO'])
  })

  it('are not bought without totalMax', async () => {
    const paid = await watched.service.transfersOf(async () => {
      const call = createBuyer(optionsOf()).changes({ since, limit: 3 }) as PagesCall<ChangesResponse>
      expect(await readAll(call)).to.deep.equal(['option_invalid'])
    })
    expect(paid).to.equal(0)
  })
})
