/** Holds the tables of the documents that name parts of the code against those parts. */
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { describeRetry } from '../agent/settlement/states.ts'
import { RECORD_STATES, STATES } from '../store/log/states.ts'
import { IMPORT_ERROR_CODES } from '../store/import/errors.ts'
import { REFUSALS, UNCLEAR_STATUSES, WIRE_CODES } from '../agent/operation/refusal.ts'
import { MATCHING_VERSION } from '../agent/operation/result.ts'
import { sha256Hex } from '../base/canonical.ts'
import { ACCURACY_PROMISES } from './bench/quality/tally.ts'
import { companySchema, FIELDS, NORMALISATION_VERSION } from '../store/dataset/company.ts'
import { LAYOUT_VERSION } from '../store/files/layout.ts'
import { formsOf, SUFFIXES } from '../store/index/suffixes.ts'

/** The made-up company has values of its own. A new field is null there. */
const SYNTHETIC = 'store/dataset/synthetic.ts'
/** Other legal forms need other versions, because stored indexes and answers have those of their version. */
const FORMS_OF_VERSION = ['ie-names-8', 3, '43b9157674a02150']

const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** The code names in the first column of every table of a document. */
function named(document: string): string[] {
  const firstColumn = [...read(document).matchAll(/^\| ([^|]+) \|/gm)].map(([, cell = '']) => cell)
  return firstColumn.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
}

function sources(): string[] {
  return ['agent', 'base', 'buyer', 'keys', 'operator', 'rest-facade', 'store'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => read(join(folder, path))),
  )
}

/** The table of the states, as docs/payments.md has it. */
function statesTable(): string[][] {
  const code = (text: string) => `\`${text}\``
  const rows = RECORD_STATES.map((state) => {
    const { meaning, next } = STATES[state]
    return [code(state), meaning, next.join(', ') || '-', describeRetry(state)]
  })
  return [['state', 'meaning', 'next states', 'same request and payment'], ...rows]
}

describe('the tables of the documents', () => {
  it('have the promises of accuracy that the benchmark measures, with its targets', () => {
    const rows = [...read('docs/accuracy.md').matchAll(/^\| ([^|]+?) +\| (at (?:least|most) [^|]+?) +\|$/gm)]
    expect(rows.map(([, promise, target]) => [promise, target])).to.deep.equal(ACCURACY_PROMISES)
  })

  it('have the states of a record as the code runs them', () => {
    const [, section = ''] = read('docs/payments.md').split('### States of a record\n')
    const [table = ''] = section.trim().split('\n\n')
    const lines = table.split('\n').filter((line) => !/^[|\s-]+$/.test(line))
    const cells = lines.map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
    expect(cells).to.deep.equal(statesTable())
  })

  it('have every variable of the environment, and no other', () => {
    const variables = [...read('agent/service/config.ts').matchAll(/^ {2}([A-Z][A-Z0-9_]+):/gm)].map(
      ([, name = '']) => name,
    )
    expect(variables).to.include('DATA_DIR')
    const told = named('docs/operations.md').filter((name) => /^[A-Z][A-Z0-9_]+$/.test(name))
    expect(told.toSorted()).to.deep.equal(variables.toSorted())
  })

  it('have every event that is logged as a warning', () => {
    const events = sources().flatMap((source) =>
      [...source.matchAll(/report\('([a-z0-9_]+)'/g)].map(([, name = '']) => name),
    )
    expect(events).to.include('chain_unavailable')
    const told = ['docs/operations.md', 'docs/data.md'].map(read).join('\n')
    expect(events.filter((event) => !told.includes(`\`${event}\``))).to.deep.equal([])
  })

  it('have every code of the errors of the buyer, and no other', () => {
    const codes = [...read('buyer/library/purchase-error.ts').matchAll(/^ {2}([a-z_]+): '/gm)].map(
      ([, name = '']) => name,
    )
    expect(codes).to.include('outcome_unknown')
    const [, section = ''] = read('docs/payments.md').split('`PurchaseError`')
    const [table = ''] = section.split('Delete a purchase file')
    const told = [...table.matchAll(/^\| `([a-z_]+)`/gm)].map(([, name = '']) => name)
    expect(told.toSorted()).to.deep.equal(codes.toSorted())
  })

  it('name the statuses after which the same payment is sent again, in each place', () => {
    const all = UNCLEAR_STATUSES.join(', ')
    expect(read('docs/buy.md')).to.contain(`after ${all} or no answer, repeat`)
    expect(read('docs/served/testnet-client.py')).to.contain(`REPEATED_STATUSES = {429, ${all}}`)
    for (const path of ['api.md', 'a2a.md', 'guidance.txt'])
      expect(read(`docs/served/${path}`).replaceAll('{{unclear_statuses}}', '')).not.to.match(/50[0-4], 50/)
  })

  it('have every code of the errors of an import, and no other', () => {
    expect(IMPORT_ERROR_CODES).to.include('source_cut')
    const [, table = ''] = /^\| code .*\n\|[ -|]+\n((?:\|.*\n)+)/m.exec(read('docs/data.md')) ?? []
    const told = [...table.matchAll(/^\| `([a-z_]+)` /gm)].map(([, name]) => name)
    expect(told).to.have.members(IMPORT_ERROR_CODES)
  })

  it('have every package that the service depends on, and no other', () => {
    const { dependencies } = JSON.parse(read('package.json')) as { dependencies: Record<string, string> }
    const [, packages = ''] = read('docs/decisions.md').split('## Dependencies')
    const rows = [...packages.matchAll(/^\| (`[^|]+`) +\|/gm)].map(([, cell = '']) => cell)
    const told = rows.flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
    expect(told.toSorted()).to.deep.equal(Object.keys(dependencies).toSorted())
  })
})

/** The paths in the numbered list of CONTRIBUTING that begins with a sentence. */
function placesTo(task: string): string[] {
  const [, list = ''] = read('CONTRIBUTING.md').split(`To ${task}`)
  const [steps = ''] = list.slice(list.indexOf('1. ')).split(/\n\n(?! )/)
  return [...steps.matchAll(/`([\w/-]+(?:\.\w+)?\/[\w./-]+|[\w/-]+\.\w+)`/g)].map(([, path = '']) => path)
}

describe('the lists of CONTRIBUTING', () => {
  it('to add a field of a company have every file that names one of no other use', () => {
    const folders = ['agent', 'base', 'buyer', 'docs', 'keys', 'operator', 'rest-facade', 'store']
    const files = folders.flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter(
          (path) => /\.(?:ts|md|txt|html|py)$/.test(path) && read(join(folder, path)).includes('company_type_code'),
        )
        .map((path) => join(folder, path)),
    )
    const places = placesTo('add a field of a company')
    expect(places).to.have.members([...files.filter((path) => path !== SYNTHETIC), 'store/dataset/company-entry.ts'])
    expect(places).to.have.lengthOf.at.most(4)
  })

  it('to add a field: the contract and the document of the data have each field and its column', () => {
    const [, rule = ''] = /\*\*2\.1\*\*([^]*?)\n- \*\*/.exec(read('docs/contract.md')) ?? []
    const rows = read('docs/data.md').match(/^\| `.*$/gm) ?? []
    for (const field of companySchema.keyof().options) expect(rule).to.contain(`\`${field}\``)
    for (const [field, [column]] of Object.entries(FIELDS))
      expect(rows.some((row) => row.includes(`\`${column}\``) && row.includes(`\`${field}\``))).to.equal(true, field)
    expect(read('docs/data.md')).to.contain(`{"normalisation":"${NORMALISATION_VERSION}"}`)
  })

  it('to add a legal form: other classes have another version of the matching and of the snapshot', () => {
    expect(placesTo('add a legal form')).to.have.lengthOf(3)
    const forms = SUFFIXES.map((suffix) => [suffix, formsOf(suffix)])
    expect([MATCHING_VERSION, LAYOUT_VERSION.snapshot, sha256Hex(JSON.stringify(forms)).slice(0, 16)]).to.deep.equal(
      FORMS_OF_VERSION,
    )
  })

  it('to add a refusal: each code has its rule, its definition, and the routes that send it', () => {
    const places = placesTo('add a refusal')
    const [contract, ...code] = places.flatMap((place) =>
      place.includes('.')
        ? [read(place)]
        : readdirSync(join(ROOT, place))
            .filter((name) => name !== 'refusal.ts')
            .map((name) => read(join(place, name))),
    )
    const [definitions, ...sent] = code
    for (const refusal of Object.keys(REFUSALS)) {
      expect(contract, refusal).to.contain(`\`${refusal}\``)
      expect(definitions, refusal).to.contain(`  ${refusal}:`)
      const isSent = sent.some((text) => text.includes(`'${refusal}'`))
      expect(isSent || WIRE_CODES.some((wire) => wire === refusal), refusal).to.equal(true)
    }
  })
})
