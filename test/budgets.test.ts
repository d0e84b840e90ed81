/** The sizes in budgets.ts. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import * as budgets from './budgets.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))

const SIZES: Record<string, [max: number, count: () => number]> = {
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
