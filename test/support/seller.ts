/** A seller whose doors are faked where a fault must be produced; its store and its steps are the real ones. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FacilitatorClient } from '@x402/core/server'
import type { SettleResponse, VerifyResponse } from '@x402/core/types'
import { perform } from '../../agent/executor/perform.ts'
import { RateLimit } from '../../agent/executor/rate-limit.ts'
import type { Order, Seller } from '../../agent/executor/seller.ts'
import { Offers } from '../../agent/executor/offers.ts'
import { Turns } from '../../agent/executor/turns.ts'
import type { Outcome } from '../../agent/operation/outcome.ts'
import { resourceUrl } from '../../agent/operation/resource.ts'
import type { Chain, Evidence } from '../../agent/payments/chain.ts'
import { openCatalog } from '../../store/catalog.ts'
import { importDataset } from '../../store/import/run.ts'
import type { ResponseRecord } from '../../store/record.ts'
import { openResponseLog } from '../../store/responses.ts'
import { SYNTHETIC } from '../../store/source.ts'
import { PROCESSES, REGISTER } from './fixtures.ts'
import { header, testTerms } from './payments.ts'

export const TRANSACTION = `0x${'ab'.repeat(32)}`

type Payload = Parameters<FacilitatorClient['verify']>[0]

/** What the faked doors do; replaced by a test where it needs another answer. */
export interface Script {
  verify: (payload: Payload) => Promise<unknown>
  settle: (payload: Payload) => Promise<unknown>
  evidence: () => Promise<Evidence>
  head: () => Promise<bigint>
  isNonceFree: () => Promise<boolean>
}

function payerOf(payload: Payload): string {
  return (payload.payload as { authorization: { from: string } }).authorization.from
}

/** A facilitator's word for a settlement that went through. */
export function settledReply(payload: Payload): SettleResponse {
  return { success: true, transaction: TRANSACTION, network: testTerms.network, payer: payerOf(payload) }
}

export class TestSeller {
  readonly script: Script = {
    verify: async (payload) => ({ isValid: true, payer: payerOf(payload) }) satisfies VerifyResponse,
    settle: async (payload) => settledReply(payload),
    evidence: async () => ({ nonce: 'free', time: 0n, finalTime: 0n }),
    head: async () => 100n,
    isNonceFree: async () => true,
  }
  /** What was asked of whom, in order. */
  readonly calls: string[] = []
  readonly reports: string[] = []
  readonly directory: string
  now = () => new Date()
  seller: Seller

  private constructor(directory: string) {
    this.directory = directory
    this.seller = this.#open(120)
  }

  static async open(): Promise<TestSeller> {
    return new TestSeller(await mkdtemp(join(tmpdir(), 'seller-')))
  }

  /** As after a kill: the same directory, nothing in memory. */
  async restart(): Promise<void> {
    await this.#closeStore()
    this.seller = this.#open(120)
  }

  /** Imports the tests' register. */
  async import(): Promise<void> {
    await importDataset({
      dataDirectory: this.directory,
      catalog: this.seller.catalog,
      path: REGISTER,
      publication: SYNTHETIC,
      processes: PROCESSES,
      now: () => this.now(),
    })
  }

  limitTo(perMinute: number): void {
    this.seller.rateLimit = new RateLimit({ perMinute, now: () => this.now() })
  }

  async close(): Promise<void> {
    await this.#closeStore()
    await rm(this.directory, { recursive: true })
  }

  /** Asks for a lookup, of the synthetic company unless said otherwise. */
  lookup(payment?: unknown, company_number = '00000000'): Promise<Outcome> {
    return this.ask({ operation: 'lookup', input: { company_number } }, payment === undefined ? [] : [header(payment)])
  }

  ask(operation: Order['operation'], paymentHeaders: string[]): Promise<Outcome> {
    const url = resourceUrl('http://127.0.0.1:4021', operation)
    return perform(this.seller, { operation, paymentHeaders, resourceUrl: url })
  }

  /** The records whose outcome nobody knows yet. */
  async records(): Promise<ResponseRecord[]> {
    const { log } = this.seller.desk
    const records = await Promise.all((await log.unfinished()).map((identity) => log.read(identity)))
    return records.flatMap((record) => (record && record.state !== 'settled' ? [record] : []))
  }

  #open(perMinute: number): Seller {
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
      head: call('head', () => script.head()),
      isNonceFree: call('isNonceFree', () => script.isNonceFree()),
      evidence: call('evidence', () => script.evidence()),
    }
    return {
      terms: testTerms,
      catalog: openCatalog(this.directory),
      desk: {
        log: openResponseLog(this.directory),
        facilitator,
        chain,
        now: () => this.now(),
        timer: (callback, milliseconds) => {
          const timeout = setTimeout(callback, milliseconds).unref()
          return () => clearTimeout(timeout)
        },
        report: (event) => void this.reports.push(event),
      },
      rateLimit: new RateLimit({ perMinute, now: () => this.now() }),
      turns: new Turns(),
      offers: new Offers(),
    }
  }

  async #closeStore(): Promise<void> {
    await this.seller.desk.log.close()
    await this.seller.catalog.close()
  }
}
