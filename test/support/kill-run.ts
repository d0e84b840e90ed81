/**
 * The kill programme: the service is killed in the middle of a sale, started again on the same data, and asked the same
 * with the same payment. The chain, which lives on, is the judge.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { privateKeyToAddress } from 'viem/accounts'
import type { Hex } from 'viem'
import { ready, startChild, type Child } from './child.ts'
import type { KillPoint } from './kill-points.ts'
import { header, signedPayment } from './payments.ts'
import { tokenOn } from './token.ts'

const COMPANY = '/api/v1/company/00000000'

export interface KillResult {
  point: KillPoint
  /** Whether the client got no answer and the process ended by SIGKILL. */
  killed: boolean
  /** The status of the retry after the restart. */
  status: number
  /** Transfers from buyer to receiver that the sale made in all. */
  transfers: number
  /** Whether a second retry had the same bytes and the same receipt. */
  identical: boolean
  /** Whether the receipt names a transaction. */
  receipt: boolean
}

interface Sale {
  point: KillPoint
  payment: string
  transfersBefore: number
  killed: boolean
}

/** Runs one sale for each point. Each process is the restart after the kill before it, so n kills take n + 1 starts. */
export async function runKills({
  rpcUrl,
  points,
}: {
  rpcUrl: string
  points: readonly KillPoint[]
}): Promise<KillResult[]> {
  const directory = await mkdtemp(join(tmpdir(), 'kill-'))
  const environment = { DATA_DIR: directory, RPC_URL: rpcUrl, PORT: '0', LOG_LEVEL: 'silent' }
  const results: KillResult[] = []
  let killedSale: Sale | undefined
  try {
    for (const point of [...points, 'never' as const]) {
      const child = startChild('test/support/killable.js', [point], environment)
      const url = await ready(child)
      const transfers = () => transferCount(rpcUrl, child)
      if (killedSale) results.push(await retryTwice(url, killedSale, transfers))
      if (point === 'never') child.process.kill('SIGTERM')
      else killedSale = await sellAndDie({ url, child, point, transfersBefore: await transfers() })
      await child.ended
    }
    return results
  } finally {
    await rm(directory, { recursive: true })
  }
}

interface Victim {
  url: string
  child: Child
  point: KillPoint
  transfersBefore: number
}

async function sellAndDie({ url, child, point, transfersBefore }: Victim): Promise<Sale> {
  const payment = await payFor(url, child)
  const answered = await ask(url, payment).then(
    () => true,
    () => false,
  )
  if (answered) child.process.kill('SIGTERM')
  return { point, payment, transfersBefore, killed: !answered && (await child.ended) === 'SIGKILL' }
}

async function retryTwice(url: string, sale: Sale, transfers: () => Promise<number>): Promise<KillResult> {
  const first = await ask(url, sale.payment)
  const second = await ask(url, sale.payment)
  return {
    point: sale.point,
    killed: sale.killed,
    status: first.status,
    transfers: (await transfers()) - sale.transfersBefore,
    identical: first.body === second.body && first.receipt === second.receipt,
    receipt: first.receipt !== null && /^0x[0-9a-f]{64}$/.test(decodePaymentResponseHeader(first.receipt).transaction),
  }
}

async function ask(url: string, payment?: string) {
  const response = await fetch(url + COMPANY, {
    headers: payment === undefined ? {} : { 'PAYMENT-SIGNATURE': payment },
  })
  return {
    status: response.status,
    body: await response.text(),
    quote: response.headers.get('PAYMENT-REQUIRED'),
    receipt: response.headers.get('PAYMENT-RESPONSE'),
  }
}

async function payFor(url: string, child: Child): Promise<string> {
  const { quote } = await ask(url)
  const [requirements] = decodePaymentRequiredHeader(quote ?? '').accepts
  if (!requirements) throw new Error('The quote accepts no payment')
  return header(await signedPayment({ key: child.said.get('buyer') as Hex, requirements }))
}

function transferCount(rpcUrl: string, { said }: Child): Promise<number> {
  const buyer = privateKeyToAddress(said.get('buyer') as Hex)
  return tokenOn(rpcUrl).transfers(buyer, said.get('receiver') ?? '')
}
