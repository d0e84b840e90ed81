/** A sale context with a scripted facilitator and chain, over the real store and the real steps. */
import { randomUUID } from 'node:crypto'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import type { FacilitatorClient } from '@x402/core/server'
import type { SettleResponse, VerifyResponse } from '@x402/core/types'
import { perform } from '../../agent/sale/perform.ts'
import type { SaleRequest, SaleContext } from '../../agent/sale/sale-context.ts'
import { AddressBudgets } from '../../agent/sale/limits/address-budget.ts'
import { WorkQueue } from '../../agent/sale/limits/work-queue.ts'
import { KeyedMutex } from '../../agent/sale/limits/keyed-mutex.ts'
import { PayerReservations } from '../../agent/sale/limits/payer-reservations.ts'
import { SalesLimit } from '../../agent/sale/limits/sales-limit.ts'
import type { Outcome } from '../../agent/operation/outcome.ts'
import { resourceUrl } from '../../agent/operation/resource.ts'
import type { Observation } from '../../agent/settlement/chain/observe.ts'
import type { ObservedPayment } from '../../agent/settlement/chain/view.ts'
import type { Chain } from '../../agent/settlement/chain/chain.ts'
import type { NonceState } from '../../agent/settlement/decide.ts'
import { FacilitatorDoubts } from '../../agent/settlement/doubts.ts'
import { RecentAttempts } from '../../agent/settlement/recent-attempts.ts'
import { Catalog } from '../../store/dataset/catalog.ts'
import { Journal } from '../../store/history/journal.ts'
import { importDataset } from '../../store/import/run.ts'
import { LogOwnership } from '../../store/log/owner.ts'
import type { ResponseRecord } from '../../store/log/record.ts'
import { isFinal } from '../../store/log/states.ts'
import { LmdbResponseLog } from '../../store/log/lmdb-responses.ts'
import { SYNTHETIC } from '../../store/dataset/source.ts'
import { makeClient } from './clients.ts'
import { REGISTER } from './fixtures.ts'
import { header, testTerms } from './payments.ts'
import { recordsOf } from './records.ts'
import { observationOf, WORKING, type FakeState } from './fake-chain.ts'
import { makeTemporaryDirectory } from './temporary-directory.ts'
import { pausesOnly } from './timers.ts'
import { writeUnsigned } from './unsigned-receipt.ts'
import { lookup } from '../../agent/operation/lookup.ts'

export const TRANSACTION = `0x${'ab'.repeat(32)}`

/** More sales than a test makes. */
const SALES_PER_MINUTE = 1_000

type Payload = Parameters<FacilitatorClient['verify']>[0]

/** The answers of the facilitator and the chain. A test replaces those it needs. */
export interface Script {
  verify: (payload: Payload) => Promise<unknown>
  settle: (payload: Payload) => Promise<unknown>
  /** What the chain shows of a payment with a record. */
  nonceState: () => Promise<NonceState>
  /** Whether a block has this transaction, and it failed. */
  hasFailed: (transaction: string) => Promise<boolean>
  /** Whether an observation before a sale shows the transfers of earlier sales. */
  areTransfersShown: () => Promise<boolean>
  /** The state of the payer before a sale. */
  observe: (payment: ObservedPayment | undefined) => Promise<FakeState>
  /** The newest block and the number of the final block, for a payment with a record. */
  progress: () => Promise<{ time: bigint; finalBlock: bigint }>
}

function payerOf(payload: Payload): string {
  return (payload.payload as { authorization: { from: string } }).authorization.from
}

/** The facilitator's reply to a successful settlement. */
export function settledReply(payload: Payload): SettleResponse {
  return { success: true, transaction: TRANSACTION, network: testTerms.network, payer: payerOf(payload) }
}

/** The code of a refusal, or `answer`. */
export function codeOf(outcome: Outcome): string {
  return outcome.kind === 'answer' ? 'answer' : outcome.refusal.code
}

/** The code of a refusal with the reason of its quote, or `answer`. */
export function summarize(outcome: Outcome): string {
  const quote = outcome.kind === 'refused' && outcome.quote
  return quote ? `${codeOf(outcome)} ${decodePaymentRequiredHeader(quote.header).error}` : codeOf(outcome)
}

/** A harness for each test of a group. */
export function useSale(): SaleHarness {
  let current: SaleHarness
  beforeEach(async () => void (current = await SaleHarness.open()))
  afterEach(() => current.close())
  return new Proxy({} as SaleHarness, {
    get(_, name) {
      const member: unknown = Reflect.get(current, name)
      return typeof member === 'function' ? (member.bind(current) as unknown) : member
    },
    set: (_, name, value) => Reflect.set(current, name, value),
  })
}

export class SaleHarness {
  readonly script: Script = {
    verify: async (payload) => ({ isValid: true, payer: payerOf(payload) }) satisfies VerifyResponse,
    settle: async (payload) => settledReply(payload),
    nonceState: async () => ({
      nonce: 'free',
      time: BigInt(Math.floor(this.now().getTime() / 1000) + 2),
      finalTime: 0n,
    }),
    hasFailed: async () => false,
    areTransfersShown: async () => true,
    observe: async () => ({}),
    // A block per second, all of them final, so that only the clock separates two observations.
    progress: async () => {
      const time = BigInt(Math.floor(this.now().getTime() / 1000))
      return { time, finalBlock: time }
    },
  }
  readonly #progress = this.script.progress
  /** Requests whose payment was found to be verified. */
  verified = 0
  /** Turns that requests have taken after a wait. */
  turns = 0
  /** Names of the remote calls, in order. */
  readonly calls: string[] = []
  readonly reports: string[] = []
  readonly directory: string
  now = () => new Date()
  /** The address of the client that the next request comes from. */
  client = '192.0.2.1'
  readonly clock = () => this.now().getTime()
  budgets = new AddressBudgets({ perMinute: 1_000_000, clock: this.clock })
  context: SaleContext
  #catalog: Catalog
  #journal: Journal | undefined

  private constructor(directory: string) {
    this.directory = directory
    this.#catalog = new Catalog(directory)
    this.context = this.#open(SALES_PER_MINUTE)
  }

  static async open(): Promise<SaleHarness> {
    return new SaleHarness(await makeTemporaryDirectory())
  }

  /** Opens all again, as a restarted process does, also with another limit of sales in a minute. */
  async restart(salesPerMinute = SALES_PER_MINUTE): Promise<void> {
    await this.#closeStore()
    this.#catalog = new Catalog(this.directory)
    this.context = this.#open(salesPerMinute)
  }

  /** Imports a register, by default that of the tests. */
  async import(path = REGISTER): Promise<void> {
    await importDataset({
      dataDirectory: this.directory,
      catalog: this.#catalog,
      path,
      publication: SYNTHETIC,
      now: () => this.now(),
    })
  }

  /** Moves the clock of the service forward. */
  pass(milliseconds: number): void {
    const { now } = this
    this.now = () => new Date(now().getTime() + milliseconds)
  }

  /** Gives each client address this number of units a minute. */
  budgetOf(perMinute: number): void {
    this.budgets = new AddressBudgets({ perMinute, clock: this.clock })
  }

  close(): Promise<void> {
    return this.#closeStore()
  }

  /** The number of remote calls of this name. */
  count(name: keyof Script): number {
    return this.calls.filter((call) => call === name).length
  }

  /** Makes the facilitator's next calls of this name wait for `release`. `arrived` resolves when so many wait. */
  block(name: 'verify' | 'settle') {
    const answer = this.script[name]
    const before = this.count(name)
    let release = (): void => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    this.script[name] = async (payload) => released.then(() => answer(payload))
    const arrived = async (count: number) => {
      while (this.count(name) < before + count) await new Promise(setImmediate)
    }
    return { release, arrived }
  }

  /** Performs a lookup, by default of the synthetic company. */
  lookup(payment?: unknown, company_number = '00000000'): Promise<Outcome> {
    return this.perform(
      { definition: lookup, input: { company_number } },
      payment === undefined ? [] : [header(payment)],
    )
  }

  perform(operation: SaleRequest['operation'], paymentHeaders: string[]): Promise<Outcome> {
    const url = resourceUrl('http://127.0.0.1:4021', operation)
    const client = {
      ...makeClient(this.client, this.budgets),
      noteVerified: () => void (this.verified += 1),
      takeTurn: (work: () => void) => {
        this.turns += 1
        work()
      },
    }
    const limited = client.budget.admit({ mayReplay: paymentHeaders.length > 0 })
    return limited
      ? Promise.resolve(limited)
      : perform(this.context, { operation, paymentHeaders, resourceUrl: url, client })
  }

  /** Unfinished records other than settled ones, which wait for a final block. */
  async unsettledRecords(): Promise<ResponseRecord[]> {
    const { log } = this.context.services
    return (await recordsOf(log)).filter(({ state }) => !isFinal(state) && state !== 'settled')
  }

  #open(salesPerMinute: number): SaleContext {
    const script = this.script
    const call =
      <Arguments extends unknown[], Reply>(name: keyof Script, answer: (...args: Arguments) => Promise<Reply>) =>
      (...args: Arguments): Promise<Reply> => {
        this.calls.push(name)
        return answer(...args)
      }
    const facilitator = {
      verify: call('verify', (payload: Payload) => script.verify(payload)),
      settle: call('settle', (payload: Payload) => script.settle(payload)),
      getSupported: async () => ({ kinds: [], extensions: [], signers: {} }),
    } as FacilitatorClient
    const chain: Chain = {
      ...WORKING,
      // Before a sale no block is recorded.
      observe: (payments) =>
        payments[0]?.recordedBlock === undefined
          ? call('observe', () => this.#observeSale(payments))()
          : call('nonceState', () => this.#observeRecorded(payments))(),
      hasFailed: call('hasFailed', (transaction: string) => script.hasFailed(transaction)),
      findUse: async () => {
        const found = await script.nonceState()
        return found.nonce === 'free' ? { nonce: 'unclear' } : found
      },
    }
    const log = new LmdbResponseLog(this.directory, { now: () => this.now() })
    const clocks = { now: () => this.now(), monotonic: () => this.now().getTime(), timer: pausesOnly }
    return {
      terms: testTerms,
      catalog: this.#catalog,
      journal: () => (this.#journal ??= new Journal(this.directory)),
      services: {
        log,
        ownership: new LogOwnership(),
        facilitator,
        chain,
        recentAttempts: new RecentAttempts({ log, ...clocks }),
        doubts: new FacilitatorDoubts({ log, ...clocks }),
        signReceipt: async (claims) => writeUnsigned(claims, randomUUID()),
        ...clocks,
        report: (event) => void this.reports.push(event),
      },
      verifications: new WorkQueue(64),
      computations: new WorkQueue(1),
      sales: new SalesLimit({ perMinute: salesPerMinute, clock: this.clock }),
      payers: new PayerReservations(),
      paymentMutex: new KeyedMutex(),
      stopSignal: new AbortController().signal,
    }
  }

  async #observeSale(payments: readonly ObservedPayment[]): Promise<Observation> {
    const isNonceUsed = await this.script.areTransfersShown()
    const earlier = payments.slice(1).map(() => ({ isNonceUsed }))
    return observationOf(this.now(), payments, [await this.script.observe(payments[0]), ...earlier])
  }

  async #observeRecorded(payments: readonly ObservedPayment[]): Promise<Observation> {
    const nonceState = await this.script.nonceState()
    const { time, finalBlock } = await this.script.progress()
    const trial = nonceState.nonce === 'free' ? nonceState.trial : undefined
    const observed = observationOf(this.now(), payments, [{ isNonceUsed: nonceState.nonce !== 'free', trial }])
    // A transfer of this second is in a final block, if the script says so.
    const shown = nonceState.nonce === 'free' ? { ...nonceState } : { time, finalTime: time + 1n }
    // A test that states the progress of the chain states the time of its newest block.
    if (this.script.progress !== this.#progress) shown.time = time
    return { ...observed, time: shown.time, final: { number: finalBlock, time: shown.finalTime } }
  }

  async #closeStore(): Promise<void> {
    await this.context.services.log.close()
    await this.#catalog.close()
    await this.#journal?.close()
    this.#journal = undefined
  }
}
