/** The sizes in budgets.ts. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import * as budgets from './budgets.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))

function textsOf(folders: readonly string[], ends: RegExp): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => ends.test(name) && !name.includes('node_modules') && !name.includes('generated-'))
      .map((name) => readFileSync(join(ROOT, folder, name), 'utf8')),
  )
}

const linesOf = (texts: readonly string[]) => texts.reduce((sum, text) => sum + text.split('\n').length - 1, 0)
const PRODUCT = ['agent', 'rest-facade', 'store', 'keys']

const SIZES: Record<string, [max: number, count: () => number]> = {
  'lines of the product': [budgets.PRODUCT_LINES_MAX, () => linesOf(textsOf(PRODUCT, /\.ts$/))],
  'lines of the tests': [budgets.TEST_LINES_MAX, () => linesOf(textsOf(['test'], /\.ts$/))],
  'lines of the page': [budgets.PAGE_LINES_MAX, () => linesOf(textsOf(['page'], /\.(?:ts|html|css)$/))],
  'lines of its style': [budgets.STYLE_LINES_MAX, () => linesOf(textsOf(['page'], /\.css$/))],
  'exported types': [
    budgets.EXPORTED_TYPES_MAX,
    () =>
      textsOf([...PRODUCT, 'page'], /\.ts$/)
        .join('\n')
        .match(/^export (?:type|interface) /gm)?.length ?? 0,
  ],
  'variables of the configuration': [
    budgets.VARIABLES_MAX,
    () => readFileSync(join(ROOT, 'docs/operations.md'), 'utf8').match(/^\| `[A-Z0-9_]+`/gm)?.length ?? 0,
  ],
  'entries in agent': [budgets.AGENT_ENTRIES_MAX, () => readdirSync(join(ROOT, 'agent')).length],
}

describe('the budgets', () => {
  for (const [name, [max, count]] of Object.entries(SIZES))
    it(`allow at most ${max} ${name}`, () => {
      expect(count()).to.be.within(1, max)
    })
})
