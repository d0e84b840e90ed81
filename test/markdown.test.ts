/** Holds the documents to a size that people read, their links to what exists, and their figures to the benchmarks. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { DOCUMENT_WORDS_MAX, README_WORDS_MAX } from './budgets.ts'
import { withScores } from './bench/proof-pages.ts'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))
/** The output of programs: `npm run proof` and `npm run tool -- clients`. */
const RUNS = 'docs/benchmarks/'
const CLIENTS = 'docs/clients.md'

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const documents = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...['docs', 'agent', 'buyer/library'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  ),
].filter((path) => /\.(md|txt|html)$/.test(path) && !path.startsWith(RUNS) && path !== CLIENTS)

/** A word has a letter or a digit. Tables of programs and the tags of HTML do not count. */
function countWords(path: string): number {
  const text = read(path).replaceAll(/<!-- [\w-]+: written by [^]*?<!-- end of [\w-]+ -->/g, '')
  const words = path.endsWith('.html') ? text.replaceAll(/<[^<>]*>/g, ' ') : text
  return words.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length
}

/** The anchors of headings, as GitHub makes them. */
function anchorsOf(path: string): Set<string> {
  const headings = [...read(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => heading)
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  )
}

/** Links to files and headings of the repository that do not exist. */
function brokenLinks(path: string): string[] {
  const links = [...read(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links
    .filter((link) => !/^[a-z]+:|^\{\{|^\//.test(link))
    .filter((link) => {
      const [file = '', anchor] = link.split('#')
      const target = file === '' ? path : relative(ROOT, join(ROOT, dirname(path), file))
      return !existsSync(join(ROOT, target)) || (anchor !== undefined && !anchorsOf(target).has(anchor))
    })
}

describe('the documents', () => {
  it(`have at most ${DOCUMENT_WORDS_MAX} words together, and README ${README_WORDS_MAX}`, () => {
    const words = new Map(documents.map((path) => [path, countWords(path)]))
    expect(words.size).to.be.greaterThan(20)
    const largest = [...words].toSorted(([, a], [, b]) => b - a).map(([path, count]) => `${path} ${count}`)
    const sum = [...words.values()].reduce((all, count) => all + count, 0)
    expect(sum, largest.join(', ')).to.be.at.most(DOCUMENT_WORDS_MAX)
    expect(words.get('README.md')).to.be.at.most(README_WORDS_MAX)
  })

  it('link to files and headings that exist', () => {
    const pages = readdirSync(join(ROOT, RUNS)).map((name) => join(RUNS, name))
    const broken = [...documents, ...pages, CLIENTS].flatMap((path) =>
      brokenLinks(path).map((link) => `${path}: ${link}`),
    )
    expect(broken).to.deep.equal([])
  })

  it('name paths of the repository that exist', () => {
    const missing = documents.flatMap((path) =>
      [...read(path).matchAll(/`((?:agent|rest-facade|store|keys|docs|test|deploy)\/[\w./-]+)`/g)]
        .map(([, named = '']) => named)
        .filter((named) => !existsSync(join(ROOT, named)))
        .map((named) => `${path}: ${named}`),
    )
    expect(missing).to.deep.equal([])
  })

  it('have the figures of the files in docs/benchmarks', () => {
    const accuracy = read('docs/accuracy.md')
    expect(withScores(accuracy, read(`${RUNS}quality.md`))).to.equal(accuracy)
  })
})
