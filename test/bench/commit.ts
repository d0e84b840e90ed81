/** The commit of the working tree, and samples that it chooses: each commit has another one, and always the same. */
import { execFileSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = dirname(fileURLToPath(import.meta.resolve('#root/package.json')))

export const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()

export function chosenByCommit<Item>(
  items: readonly Item[],
  { count, nameOf }: { count: number; nameOf: (item: Item) => string },
): Item[] {
  const commit = git('rev-parse', 'HEAD')
  const keyed = items.map((item) => ({ item, key: hash('sha256', `${commit} ${nameOf(item)}`) }))
  return keyed
    .toSorted((one, other) => (one.key < other.key ? -1 : 1))
    .slice(0, count)
    .map(({ item }) => item)
}
