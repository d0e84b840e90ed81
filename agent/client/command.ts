/** The command `client`: buys one answer, step by step and in plain words, or repeats a purchase from its file. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { z } from 'zod'
import { showHidden } from '../../store/hidden.ts'
import { REFUSALS, type RefusalCode } from '../operation/refusal.ts'
import { parseLimitText, parseOperation, type OperationName } from '../operation/schema.ts'
import { pay, paymentNonce, send, signQuote, type Answer, type Wire } from './buy.ts'
import { readPurchase, writePurchase, type Purchase } from './purchase-file.ts'
import { accessSchema, checkQuote, readQuote } from './quote.ts'
import { a2aRequest, restRequest } from './requests.ts'
import { verifyCard } from './verify-card.ts'

const USAGE = `usage: client lookup NUMBER                                       buy one company record
       client search NAME [--limit N] [--status TEXT] [--eircode CODE]
       client resolve [NAME] [--number N] [--eircode CODE] [--address TEXT]
                                          a name, a number or both
       client --retry FILE                repeat a purchase with the same payment
       client verify-card                 check the agent card's signature
       with --url URL where FILE doesn't say it, and to buy also --a2a (the other door) and --key-file FILE`

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
  const work = parsed && choose({ ...terminal, fetch: reaching(terminal.fetch) }, parsed)
  if (work) return work()
  terminal.print(USAGE)
  return EXIT_USAGE
}

/** The platform says of every such failure that a fetch failed, and not where. */
function reaching(fetch: Terminal['fetch']): Terminal['fetch'] {
  return async (input, init) => {
    try {
      return await fetch(input, init)
    } catch (cause) {
      const { origin } = new URL(input instanceof Request ? input.url : input)
      throw new Error(`${origin} can't be reached: is the service running there?`, { cause })
    }
  }
}

/** What the arguments ask for; undefined when they ask for nothing of ours, or for two things. */
function choose(terminal: Terminal, { values, positionals }: Args): (() => Promise<number>) | undefined {
  const { url, retry: file, a2a, 'key-file': key } = values
  const baseUrl = (url ?? terminal.defaultUrl).replace(/\/$/, '')
  const [command, ...subjects] = positionals
  const isAlone = subjects.length === 0 && givenOptions(values).length === 0
  // A repeat goes where the purchase went, with its own payment.
  const isRepeat = command === undefined && isAlone && !a2a && key === undefined && url === undefined
  if (file !== undefined) return isRepeat ? () => retry(terminal, file) : undefined
  if (command === 'verify-card') return isAlone ? () => checkCard(terminal, baseUrl) : undefined
  const wish = readWish(command, subjects, values)
  const keyFile = key ?? terminal.defaultKeyFile
  return wish && (() => buy(terminal, { ...wish, baseUrl, keyFile, a2a }))
}

/** The options that say what is bought. */
const INPUT_OPTIONS = {
  limit: { type: 'string' },
  status: { type: 'string' },
  number: { type: 'string' },
  eircode: { type: 'string' },
  address: { type: 'string' },
} as const

type InputOptions = Partial<Record<keyof typeof INPUT_OPTIONS, string>>

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
        ...INPUT_OPTIONS,
      },
    })
  } catch {
    return undefined
  }
}

type Args = NonNullable<ReturnType<typeof readArgs>>

interface Wish {
  name: OperationName
  input: Record<string, unknown>
}

/** What is to be bought; undefined for what no command of ours takes. Its rules are the operation's own schema's. */
function readWish(command: string | undefined, subjects: string[], options: InputOptions): Wish | undefined {
  const [subject, ...more] = subjects
  const takes = (...names: (keyof InputOptions)[]) =>
    more.length === 0 && givenOptions(options).every((option) => names.includes(option))
  const { limit, status, number, eircode, address } = options
  switch (command) {
    case 'lookup':
      return subject !== undefined && takes() ? { name: command, input: { company_number: subject } } : undefined
    case 'search': {
      const fields = given({ limit: limit && parseLimitText(limit), status, eircode })
      const isRight = subject !== undefined && takes('limit', 'status', 'eircode')
      return isRight ? { name: command, input: { q: subject, ...fields } } : undefined
    }
    case 'resolve': {
      const input = given({ name: subject, company_number: number, eircode, address })
      return takes('number', 'eircode', 'address') ? { name: command, input } : undefined
    }
    default:
      return undefined
  }
}

function givenOptions(options: InputOptions): (keyof InputOptions)[] {
  const names = Object.keys(INPUT_OPTIONS) as (keyof InputOptions)[]
  return names.filter((name) => options[name] !== undefined)
}

function given(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

interface Order extends Wish {
  baseUrl: string
  keyFile: string
  a2a: boolean
}

async function buy(terminal: Terminal, { name, input, baseUrl, keyFile, a2a }: Order): Promise<number> {
  const { print, fetch } = terminal
  const parsed = parseOperation(name, input)
  if (!parsed.valid) return refuse(print, [parsed.fault.field ?? 'the request:', parsed.fault.rule].join(' '))
  const { operation } = parsed

  const request = a2a ? await a2aRequest(baseUrl, operation, fetch) : restRequest(baseUrl, operation)
  const unpaid = await send(terminal, request)
  if (unpaid.status !== 402 || unpaid.paymentRequired === null) {
    return show(print, unpaid)
  }
  const quote = readQuote(unpaid.paymentRequired)
  print(`quote for ${printable(quote.required.resource.url)}`)
  const meta = await (await fetch(`${baseUrl}/api/v1/meta`, { redirect: 'error' })).json()
  const { access } = z.object({ access: accessSchema }).parse(meta)
  const checks = checkQuote(quote, { baseUrl, operation, access })
  for (const { name: checked, value, holds } of checks)
    print(`  ${checked.padEnd(9)}${printable(value)}  ${holds ? 'ok' : 'DIFFERS'}`)
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
  return showHidden(text, (character) =>
    character === '\n' ? character : `\\u{${character.codePointAt(0)?.toString(16)}}`,
  )
}
