/**
 * `bench reconcile [--rows N] [--names N]`: runs `client reconcile` as a process, with a list of misspelt, abbreviated
 * and unregistered names. The service, the facilitator and the node are processes of their own. Measures its speed, and
 * fails if its memory is above the limit, or if a decision differs from that of a single `resolve` of the same row.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'
import { generatePrivateKey } from 'viem/accounts'
import { generateRegister } from '../support/sample/generate.ts'
import { startChild } from '../support/child.ts'
import { makeTemporaryDirectory } from '../support/temporary-directory.ts'
import { openNames } from './generated-register.ts'
import { residentMemory, startRemotes, startService } from './load/server-process.ts'
import { describeMachine } from './machine.ts'
import { serviceEnvironment } from './perf/http-rounds.ts'
import { print } from './print.ts'
import { resolve } from './quality/evaluate.ts'
import { makeQuestions, type Question } from './quality/questions.ts'
import type { ReferenceRegister } from './quality/register.ts'
import { shuffled } from './quality/sample.ts'

const ROWS_DEFAULT = '10000'
const NAMES_DEFAULT = '3000'
const SEED = 1
/** The register has as many companies as the list has rows, but at least this many, so that some names are similar. */
const COMPANIES_MIN = 1_000
/** A company has about thirty questions. */
const ROWS_PER_COMPANY = 10
const MEMORY_MB_MAX = 200
const BYTES_PER_MIB = 1024 * 1024
const MEMORY_READ_MS = 50
const COLUMNS = ['name', 'company_number', 'eircode', 'address'] as const

/** What both ways must decide alike. */
interface Decision {
  status: ReturnType<typeof resolve>['status']
  number: string
  score: string
}

export async function reconcile(options: Record<string, string>): Promise<boolean> {
  const { rows = ROWS_DEFAULT, names: compareMax = NAMES_DEFAULT } = options
  const directory = await makeTemporaryDirectory()
  const dataset = join(directory, 'register.zip')
  const dataDirectory = join(directory, 'service')
  const companies = Math.max(COMPANIES_MIN, Number(rows))
  await generateRegister({ rows: companies, seed: SEED, out: dataset })
  await using remotes = await startRemotes()
  await using service = await startService(
    'service',
    serviceEnvironment(dataDirectory, { dataset, remotes: remotes.url }),
  )
  await using names = openNames(dataDirectory)
  const questions = makeList(names.register, Number(rows))
  // By the code of the service without HTTP and payments.
  const decide = (question: Question): Decision => {
    const { status, match, first } = resolve(question.resolve, names.context)
    return { status, number: match?.number ?? '', score: String(first?.score ?? '') }
  }
  const { decisions, purchases, seconds, memoryMb } = await runList(directory, service.url, questions)
  const isEqual = (question: Question, index: number) =>
    JSON.stringify(decide(question)) === JSON.stringify(decisions[index])
  const compared = questions.slice(0, Number(compareMax))
  const differing = compared.filter((question, index) => !isEqual(question, index))
  print(`${describeMachine()}; ${decisions.length} rows, ${purchases} purchases, ${companies} companies`)
  for (const { asked } of differing.slice(0, 10)) print(`differs: ${JSON.stringify(asked)}`)
  print(
    `${(decisions.length / seconds).toFixed(1)} rows a second, ${memoryMb.toFixed(0)} MB of memory (limit ${MEMORY_MB_MAX}), ` +
      `${differing.length} of ${compared.length} decisions differ from single resolves`,
  )
  return memoryMb <= MEMORY_MB_MAX && differing.length === 0
}

function makeList(register: ReferenceRegister, rows: number): Question[] {
  const sample = shuffled(register.companies, SEED).slice(0, Math.ceil(rows / ROWS_PER_COMPANY))
  const questions = makeQuestions({ register, sample, removed: [], seed: SEED })
  if (questions.length < rows) throw new Error(`Only ${questions.length} rows can be made`)
  return shuffled(questions, SEED).slice(0, rows)
}

/** `memoryMb`: the peak resident memory of the command. */
async function runList(directory: string, url: string, questions: readonly Question[]) {
  const file = join(directory, 'list.csv')
  const keyFile = join(directory, 'buyer.key')
  await writeFile(keyFile, generatePrivateKey(), { mode: 0o600 })
  await writeFile(file, stringify([COLUMNS, ...questions.map(({ asked }) => COLUMNS.map((column) => asked[column]))]))
  const evidence = ['--number-column', 'company_number', '--eircode-column', 'eircode', '--address-column', 'address']
  const list = ['reconcile', file, '--column', 'name', ...evidence, '--yes']
  const began = performance.now()
  const child = startChild('agent/main.js', ['client', '--url', url, '--key-file', keyFile, ...list], {
    DATA_DIR: directory,
  })
  let memory = Number.NaN
  const reading = setInterval(() => {
    const peak = residentMemory(child.process.pid, 'VmHWM')
    if (!Number.isNaN(peak)) memory = peak
  }, MEMORY_READ_MS)
  const code = await child.ended
  clearInterval(reading)
  const seconds = (performance.now() - began) / 1000
  if (code !== 0) throw new Error(`The command ended with ${code}: ${child.stderr()}`)
  const out = parse(await readFile(join(directory, 'list.reconciled.csv')), { columns: true }) as Record<
    string,
    string
  >[]
  if (out.length !== questions.length) throw new Error(`${questions.length} rows have ${out.length} rows of output`)
  return {
    decisions: out.map(toDecision),
    purchases: new Set(out.map(({ receipt }) => receipt).filter((receipt) => receipt !== '')).size,
    seconds,
    memoryMb: (memory * BYTES_PER_MIB) / 1e6,
  }
}

const STATUSES: ReadonlySet<string> = new Set(['matched', 'ambiguous', 'conflicting', 'no_match'])

/** The columns that the command adds come after those of the list, so `company_number_2` is the company of the row. */
function toDecision({ decision = '', company_number_2: number = '', score = '' }: Record<string, string>): Decision {
  return { status: STATUSES.has(decision) ? (decision as Decision['status']) : 'refused', number, score }
}
