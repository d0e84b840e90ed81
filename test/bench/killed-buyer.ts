/**
 * The common part of the programs that kill a buyer: a real service, and the checks after the last kill. Each purchase
 * must have one payment, one transfer and the answer that the service has stored.
 */
import { subscribe } from 'node:diagnostics_channel'
import { readdir } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { decodePaymentResponseHeader, decodePaymentSignatureHeader } from '@x402/core/http'
import { toSaved } from '../../agent/buyer/library/buy.ts'
import { fileEntry } from '../../agent/buyer/library/folder-storage.ts'
import { readPayment, readPurchase, type Purchase } from '../../agent/buyer/library/purchase-file.ts'
import { UNFINISHED_SUFFIX } from '../../store/files/atomic-file.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { print } from './print.ts'
import { failureBound } from './statistics.ts'

interface Killed {
  purchases: readonly Purchase[]
  kills: number
  /** The kills in words. */
  summary: string
}

/** Runs the kills, and checks the purchases. @returns whether there is no fault */
export async function checkKilledBuyer(
  killAll: (service: TestService, faults: string[]) => Promise<Killed>,
): Promise<boolean> {
  const service = await startTestService({ environment: { RATE_LIMIT_PER_MINUTE: '100000' } })
  const sent = recordNonces()
  const began = performance.now()
  const faults: string[] = []
  try {
    const before = (await service.paid()).transfers
    const { purchases, kills, summary } = await killAll(service, faults)
    for (const purchase of purchases) faults.push(...(await findFaults(purchase)))
    const transfers = (await service.paid()).transfers - before
    const transactions = new Set(purchases.map(({ answer }) => transactionOf(answer))).size
    const saved = new Set(purchases.map((purchase) => readPayment(purchase).nonce))
    const second = [...sent].filter((nonce) => !saved.has(nonce)).length
    if (second > 0) faults.push(`${second} payments were sent that are in no purchase file`)
    for (const [name, count] of Object.entries({ transfers, transactions, payments: saved.size }))
      if (count !== purchases.length) faults.push(`${purchases.length} purchases have ${count} ${name}`)
    const lost = purchases.filter(({ answer }) => answer?.status !== 200).length
    for (const fault of faults) print(fault)
    print(
      `${summary} in ${Math.round((performance.now() - began) / 1000)} s, ${purchases.length} purchases, ${transfers} transfers: ` +
        `${second} second payments, ${lost} lost answers, ${faults.length} faults. ${failureBound(kills)}`,
    )
    return faults.length === 0
  } finally {
    await service.stop()
  }
}

/** The nonces of all payments that reach the service of this process. */
function recordNonces(): ReadonlySet<string> {
  const nonces = new Set<string>()
  subscribe('http.server.request.start', (message) => {
    const payment = (message as { request: IncomingMessage }).request.headers['payment-signature']
    if (typeof payment !== 'string') return
    const { payload } = decodePaymentSignatureHeader(payment)
    nonces.add((payload['authorization'] as { nonce: string }).nonce)
  })
  return nonces
}

/** The faults of a purchase: its saved answer must be the one that the service has stored for the payment. */
async function findFaults({ request, payment, answer }: Purchase): Promise<string[]> {
  const headers = { ...request.headers, 'PAYMENT-SIGNATURE': payment }
  const response = await fetch(request.url, { method: request.method, headers, body: request.body })
  const stored = toSaved({
    status: response.status,
    body: await response.text(),
    paymentRequired: null,
    paymentResponse: response.headers.get('PAYMENT-RESPONSE'),
  })
  if (stored.status === 200 && isDeepStrictEqual(stored, answer)) return []
  return [`${request.url}: saved status ${answer?.status}, stored status ${stored.status}: expected the stored answer`]
}

function transactionOf(answer: Purchase['answer']): string {
  return decodePaymentResponseHeader(answer?.payment_response ?? '').transaction
}

/** The purchases in a folder of the client, by file name. */
export async function readPurchases(folder: string): Promise<Map<string, Purchase>> {
  const files = await readdir(folder).catch(() => [])
  const names = files.filter((name) => /^[0-9a-f]/.test(name) && !name.endsWith(UNFINISHED_SUFFIX))
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readPurchase(fileEntry(join(folder, name)))] as const)),
  )
}
