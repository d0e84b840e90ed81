/** Checks that the rules of docs/contract.md, the titles of the tests and the comments of the code cite each other. */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { CONTRACT_RULES_MAX } from './budgets.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** A contract that a buyer can read. */
const RULE_WORDS_MAX = 45
const LONG_RULES_MAX = 8
/** Rules with a table, whose words count. */
const RULES_WITH_A_TABLE = new Set(['5.9.1', '6.1.1', '7.2'])

/** A rule begins a list item or a table row with its id in bold. */
const RULE = /^(?:- |\| )\*\*([0-9]+(?:\.[0-9]+)+)\*\*/
const rules = [...read('docs/contract.md').matchAll(new RegExp(RULE, 'gm'))].map(idOf)
/** Section numbers may be cited too. */
const sections = [...read('docs/contract.md').matchAll(/^#+ ([0-9]+(?:\.[0-9]+)*) /gm)].map(idOf)

function idOf([, id = '']: RegExpMatchArray): string {
  return id
}

/** The words of each rule by its id. A word has a letter or a digit. The text ends at the next rule or heading. */
function countWords(): Map<string, number> {
  const words = new Map<string, number>()
  let current: string | undefined
  for (const line of read('docs/contract.md').split('\n')) {
    const begun = RULE.exec(line)
    if (begun) current = begun[1]
    else if (line.startsWith('#')) current = undefined
    if (current === undefined) continue
    const count = line
      .replace(RULE, '')
      .split(/\s+/)
      .filter((word) => /[\p{L}\p{N}]/u.test(word)).length
    words.set(current, (words.get(current) ?? 0) + count)
  }
  return words
}

function sources(folders: readonly string[], suffix: string, excluded = 'node_modules'): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith(suffix) && !path.includes('node_modules') && !path.endsWith(excluded))
      .map((path) => read(join(folder, path))),
  )
}

/** Ids in the titles of groups and tests: `it('[4.1.1] refuses ...')`, also several as `[4.1.1, 8.1]`. */
function idsInTitles({ isFast }: { isFast: boolean }): string[] {
  return sources(['test'], '.test.ts', isFast ? '.slow.test.ts' : undefined)
    .flatMap((text) => [...text.matchAll(/\b(?:describe|it)\(\s*['`"]\[([0-9., ]+)\]/g)].map(idOf))
    .flatMap((ids) => ids.split(', '))
}

describe('the contract', () => {
  it('states every rule under an id of its own', () => {
    expect(rules.length).to.be.greaterThan(100)
    expect(new Set(rules).size).to.equal(rules.length)
  })

  it(`has at most ${CONTRACT_RULES_MAX} rules`, () => {
    expect(rules.length).to.be.at.most(CONTRACT_RULES_MAX)
  })

  it(`has at most ${LONG_RULES_MAX} rules of more than ${RULE_WORDS_MAX} words without a table`, () => {
    const words = countWords()
    expect([...words.keys()]).to.have.members(rules)
    const long = [...words].filter(([id, count]) => count > RULE_WORDS_MAX && !RULES_WITH_A_TABLE.has(id))
    expect(long.length, long.join('; ')).to.be.at.most(LONG_RULES_MAX)
  })

  it('has a test in `npm test` that names each rule', () => {
    const named = new Set(idsInTitles({ isFast: true }))
    expect(rules.filter((id) => !named.has(id))).to.deep.equal([])
  })

  it('has every rule that a test names', () => {
    const known = new Set(rules)
    expect(idsInTitles({ isFast: false }).filter((id) => !known.has(id))).to.deep.equal([])
  })

  it('has every section and rule that a comment cites', () => {
    const known = new Set([...rules, ...sections])
    const texts = sources(['agent', 'base', 'buyer', 'keys', 'operator', 'rest-facade', 'store', 'test'], '.ts')
    const cited = texts.flatMap((text) => [...text.matchAll(/\bcontract ([0-9]+(?:\.[0-9]+)*)/gi)].map(idOf))
    expect(cited.filter((id) => !known.has(id))).to.deep.equal([])
  })
})
