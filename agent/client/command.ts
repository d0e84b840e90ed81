/** The command `client`: buys one answer, step by step and in plain words, or repeats a purchase from its file. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { z } from 'zod'
import { REFUSALS, type RefusalCode } from '../operation/refusal.ts'
import { parseOperation } from '../operation/schema.ts'
import { pay, paymentNonce, send, signQuote, type Answer, type Wire } from './buy.ts'
import { readPurchase, writePurchase, type Purchase } from './purchase-file.ts'
import { accessSchema, checkQuote, readQuote } from './quote.ts'
import { a2aRequest, restRequest } from './requests.ts'
import { verifyCard } from './verify-card.ts'

const USAGE = `usage: client lookup NUMBER [--url URL] [--key-file FILE] [--a2a]   buy one company record
       client --retry FILE                                         repeat a purchase with the same payment
       client verify-card [--url URL]                              check the agent card's signature`

const EXIT_DONE = 0
const EXIT_REFUSED = 1
const EXIT_USAGE = 2

export interface Terminal extends Wire {
  args: string[]
  print: (line: string) => void
  now: () => Date
  /** Used when no `--url` is given. */
  defaultUrl: string
  /** Used when no `--key-file` is given: the sandbox's buyer. */
  defaultKeyFile: string
  /** Where purchases are kept. */
  purchasesDirectory: string
}

export async function clientCommand(terminal: Terminal): Promise<number> {
  const parsed = readArgs(terminal.args)
  if (!parsed) {
    terminal.print(USAGE)
    return EXIT_USAGE
  }
  const { values, positionals } = parsed
  const baseUrl = (values.url ?? terminal.defaultUrl).replace(/\/$/, '')
  const [command, number] = positionals
  if (values.retry !== undefined && positionals.length === 0) return retry(terminal, values.retry)
  if (command === 'verify-card' && positionals.length === 1) return checkCard(terminal, baseUrl)
  if (command === 'lookup' && number !== undefined && positionals.length === 2) {
    return lookup(terminal, {
      baseUrl,
      number,
      keyFile: values['key-file'] ?? terminal.defaultKeyFile,
      a2a: values.a2a,
    })
  }
  terminal.print(USAGE)
  return EXIT_USAGE
}

function readArgs(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        url: { type: 'string' },
        'key-file': { type: 'string' },
        a2a: { type: 'boolean', default: false },
        retry: { type: 'string' },
      },
    })
  } catch {
    return undefined
  }
}

interface Lookup {
  baseUrl: string
  number: string
  keyFile: string
  a2a: boolean
}

async function lookup(terminal: Terminal, { baseUrl, number, keyFile, a2a }: Lookup): Promise<number> {
  const { print, fetch } = terminal
  const parsed = parseOperation('lookup', { company_number: number })
  if (!parsed.valid) return refuse(print, `company_number ${parsed.fault.rule}`)

  const request = a2a ? await a2aRequest(baseUrl, parsed.operation, fetch) : restRequest(baseUrl, parsed.operation)
  const unpaid = await send(terminal, request)
  if (unpaid.status !== 402 || unpaid.paymentRequired === null) {
    return show(print, unpaid)
  }
  const quote = readQuote(unpaid.paymentRequired)
  print(`quote for ${printable(quote.required.resource.url)}`)
  const meta = await (await fetch(`${baseUrl}/api/v1/meta`, { redirect: 'error' })).json()
  const { access } = z.object({ access: accessSchema }).parse(meta)
  const checks = checkQuote(quote, { baseUrl, access })
  for (const { name, value, holds } of checks)
    print(`  ${name.padEnd(9)}${printable(value)}  ${holds ? 'ok' : 'DIFFERS'}`)
  if (checks.some(({ holds }) => !holds))
    return refuse(print, 'the quote differs from what the service publishes: nothing signed')

  const payment = await signQuote(quote, await readKey(keyFile))
  const path = join(terminal.purchasesDirectory, `${paymentNonce(payment)}.json`)
  const purchase: Purchase = {
    request,
    payment,
    quote: { ...quote.required },
    signed_at: terminal.now().toISOString(),
    answer: null,
  }
  await writePurchase(path, purchase)
  print(`payment kept in ${path}`)
  return show(print, await pay(terminal, path, purchase))
}

async function retry(terminal: Terminal, path: string): Promise<number> {
  const { print } = terminal
  const purchase = await readPurchase(path)
  print(
    `repeating ${purchase.request.method} ${printable(purchase.request.url)} with the payment of ${purchase.signed_at}`,
  )
  const answer = await pay(terminal, path, purchase)
  const code = show(print, answer)
  if (code === EXIT_DONE && purchase.answer?.status === 200) {
    const isSame = purchase.answer.body === answer.body && purchase.answer.payment_response === answer.paymentResponse
    print(
      isSame
        ? 'the same answer and the same transaction as before: nothing was charged again'
        : 'THE ANSWER DIFFERS FROM BEFORE',
    )
    return isSame ? EXIT_DONE : EXIT_REFUSED
  }
  return code
}

async function checkCard({ print, fetch }: Terminal, baseUrl: string): Promise<number> {
  const kid = await verifyCard(baseUrl, fetch)
  if (kid === undefined) return refuse(print, 'the agent card has no valid signature')
  print(`the agent card is signed by ${kid}`)
  return EXIT_DONE
}

/** What came back, and what it cost. Over A2A the data is in the message's part. */
function show(print: Terminal['print'], { status, body, paymentResponse }: Answer): number {
  const json: unknown = JSON.parse(body)
  const message = z.object({
    result: z.object({ message: z.object({ parts: z.tuple([z.object({ data: z.unknown() })]) }) }),
  })
  const data = message.safeParse(json).data?.result.message.parts[0].data ?? json
  print(`HTTP ${status}`)
  print(printable(JSON.stringify(data, null, 2)))
  const known = refusalOf(json)
  if (known) print(`charged: ${known.charged}. ${known.advice}`)
  if (paymentResponse === null) return EXIT_REFUSED
  const { transaction, network, payer } = decodePaymentResponseHeader(paymentResponse)
  print(`paid by ${printable(payer ?? 'unknown')} on ${printable(network)} in transaction ${printable(transaction)}`)
  return status === 200 ? EXIT_DONE : EXIT_REFUSED
}

/** What our own table says of an error code; nothing for a code that it doesn't hold. */
function refusalOf(body: unknown) {
  const parsed = z.object({ error: z.object({ code: z.string() }) }).safeParse(body)
  const code = parsed.data?.error.code ?? ''
  return Object.hasOwn(REFUSALS, code) ? REFUSALS[code as RefusalCode] : undefined
}

function refuse(print: Terminal['print'], line: string): number {
  print(line)
  return EXIT_REFUSED
}

async function readKey(path: string): Promise<`0x${string}`> {
  const key = (await readFile(path, 'utf8').catch(() => '')).trim()
  if (!/^0x[0-9a-fA-F]{64}$/.test(key))
    throw new Error(`${path}: is not a file with a private key (0x and 64 hex digits)`)
  return key as `0x${string}`
}

/** Somebody else's text for a terminal: what is not visible is written out, so that it can't move the cursor. */
function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, (character) =>
    character === '\n' ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
