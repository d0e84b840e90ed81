/**
 * `npm run bench -- lookup [--seconds N]`: what a lookup costs in our own time. The facilitator and the chain answer at
 * once, so that what is left is HTTP, the checks, the signature, and two durable writes. Beside them, in the same run, a
 * bare node:http server that sends as many bytes: the ratio holds on other machines, the milliseconds don't. With
 * `--rows N` only what a snapshot of so many made-up companies gives in process, in random order and on one core.
 */
import { createServer } from 'node:http'
import { cpus } from 'node:os'
import { join } from 'node:path'
import express from 'express'
import { generateCommand } from '../../agent/sandbox/generate-command.ts'
import { startChild } from '../support/child.ts'
import { header, signedPayment } from '../support/payments.ts'
import { TestSeller } from '../support/seller.ts'
import { LOOKUP_PATH, listen, openShop, serverOf } from './shop.ts'

const SECONDS_DEFAULT = '3'
const CONCURRENCIES = [1, 16] as const
/** Signed before the clock starts: signing is the buyer's work. */
const PAYMENTS = 3_000

/** Finds between two looks at the clock. */
const FINDS = 1_000

interface Figures {
  name: string
  concurrency: number
  p50: number
  p99: number
  perSecond: number
}

export async function lookup({ seconds = SECONDS_DEFAULT, rows }: Record<string, string>): Promise<boolean> {
  if (rows !== undefined) return largeLookup(rows, Number(seconds) * 1000)
  const shop = await openShop()
  const service = await listen(serverOf(shop))
  const bytes = Buffer.alloc(1_000, 'x')
  const bare = await listen(createServer((_request, response) => response.end(bytes)))
  const stock = await listen(
    createServer(express().get(LOOKUP_PATH, (_request, response) => void response.send(bytes))),
  )
  try {
    const payments = await Promise.all(Array.from({ length: PAYMENTS }, async () => header(await signedPayment())))
    const [kept = ''] = payments.splice(0, 1)
    await get(service.url, kept)
    const durationMs = Number(seconds) * 1000
    const figures: Figures[] = []
    for (const concurrency of CONCURRENCIES) {
      const run = (name: string, request: () => Promise<void> | undefined) =>
        measure({ name, concurrency, durationMs, request }).then((each) => void figures.push(each))
      await run('bare node:http', () => get(bare.url))
      await run('bare express 5', () => get(stock.url))
      await run('quote (402)', () => get(service.url))
      await run('replay of a stored answer', () => get(service.url, kept))
      await run('paid lookup, new payment each', () => {
        const payment = payments.pop()
        return payment === undefined ? undefined : get(service.url, payment)
      })
    }
    print(figures)
    await finds(shop, durationMs)
    return true
  } finally {
    for (const server of [service, bare, stock]) server.close()
    await shop.close()
  }
}

async function largeLookup(rows: string, durationMs: number): Promise<boolean> {
  const shop = await TestSeller.open()
  try {
    const path = join(shop.directory, 'register.zip')
    const args = ['--rows', rows, '--seed', '1', '--out', path]
    await generateCommand({ args, print: () => undefined, progress: () => undefined })
    // In a process of its own: what an import leaves in memory is no part of a lookup.
    const child = startChild('test/support/import-child.js', ['import', path, shop.directory], {})
    if ((await child.ended) !== 0) throw new Error(child.stderr())
    await finds(shop, durationMs)
    return true
  } finally {
    await shop.close()
  }
}

/** In process and on one core: how many entries a second a snapshot gives. */
async function finds(shop: TestSeller, durationMs: number): Promise<void> {
  const snapshot = shop.seller.catalog.current()?.snapshot
  if (!snapshot) throw new Error('There is no snapshot')
  const numbers = shuffled([...snapshot.entries()].map(([number]) => number))
  let found = 0
  const began = performance.now()
  for (let at = 0; performance.now() - began < durationMs; at = (at + FINDS) % numbers.length) {
    for (const number of numbers.slice(at, at + FINDS)) if (snapshot.find(number) !== undefined) found += 1
  }
  const perSecond = Math.round((found / (performance.now() - began)) * 1000)
  process.stdout.write(`${numbers.length} entries in a snapshot: ${perSecond} a second in process, in random order\n`)
}

/** In an order that is random and the same each time (Fisher and Yates, with a linear congruential generator). */
function shuffled(numbers: string[]): string[] {
  let seed = 1
  for (let last = numbers.length - 1; last > 0; last -= 1) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0
    const other = Math.floor((seed / 2 ** 32) * (last + 1))
    ;[numbers[last], numbers[other]] = [numbers[other] as string, numbers[last] as string]
  }
  return numbers
}

async function get(url: string, payment?: string): Promise<void> {
  const response = await fetch(url + LOOKUP_PATH, {
    headers: payment === undefined ? {} : { 'PAYMENT-SIGNATURE': payment },
  })
  await response.arrayBuffer()
  const expected = payment === undefined ? [200, 402] : [200]
  if (!expected.includes(response.status)) throw new Error(`HTTP ${response.status}`)
}

interface Load {
  name: string
  concurrency: number
  durationMs: number
  /** Undefined when there is nothing left to send. */
  request: () => Promise<void> | undefined
}

async function measure({ name, concurrency, durationMs, request }: Load): Promise<Figures> {
  const times: number[] = []
  const began = performance.now()
  const worker = async () => {
    while (performance.now() - began < durationMs) {
      const start = performance.now()
      const sent = request()
      if (!sent) return
      await sent
      times.push(performance.now() - start)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, worker))
  const elapsed = performance.now() - began
  times.sort((one, other) => one - other)
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN
  return { name, concurrency, p50: at(0.5), p99: at(0.99), perSecond: (times.length / elapsed) * 1000 }
}

function print(figures: Figures[]): void {
  process.stdout.write(
    `${cpus().length} cores, ${cpus()[0]?.model.trim()}, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}\n`,
  )
  process.stdout.write('client and servers share one process, so the client is in every figure\n')
  for (const { name, concurrency, p50, p99, perSecond } of figures) {
    const base = figures.find((each) => each.concurrency === concurrency)?.perSecond ?? Number.NaN
    const row = [
      name.padEnd(30),
      `c${concurrency}`.padEnd(4),
      `p50 ${p50.toFixed(2)} ms`.padEnd(14),
      `p99 ${p99.toFixed(2)} ms`.padEnd(15),
      `${Math.round(perSecond)}/s`.padEnd(9),
      `${(perSecond / base).toFixed(2)} x bare`,
    ]
    process.stdout.write(`${row.join(' ')}\n`)
  }
}
