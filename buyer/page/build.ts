/** Bundles the page into dist/page. Scripts and style have a hash in their name, and assets.json lists them. */
import { hash } from 'node:crypto'
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

process.chdir(fileURLToPath(new URL('.', import.meta.resolve('#root/package.json'))))
rmSync('dist/page/assets', { recursive: true, force: true })

/** `lists.ts` and what only it imports are loaded when they are needed. */
const { metafile } = await build({
  entryPoints: ['buyer/page/main.ts', 'buyer/page/guide.ts', 'buyer/page/page.css'],
  outdir: 'dist/page/assets',
  entryNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  metafile: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  legalComments: 'none',
  // The page has no private key, so it never imports this.
  external: ['*/private-key-signer.ts'],
  // A package is bundled from dist, the page from the sources.
  alias: { 'csv-parse/sync': 'csv-parse/browser/esm/sync', '#open-storage': './buyer/library/no-folder.ts' },
})

/** The files that a source file needs at once: its own, and the chunks that it imports. */
function filesOf(entry: string): string[] {
  const found = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === entry)
  const files = new Set([found?.[0] ?? ''])
  for (const file of files)
    for (const { kind, path } of metafile.outputs[file]?.imports ?? []) if (kind === 'import-statement') files.add(path)
  return [...files].map((file) => basename(file))
}

const entries = {
  style: filesOf('buyer/page/page.css'),
  main: filesOf('buyer/page/main.ts'),
  guide: filesOf('buyer/page/guide.ts'),
}
const files = readdirSync('dist/page/assets')
const later = files.filter((file) => !Object.values(entries).flat().includes(file))
const hashOf = (file: string) => hash('sha384', readFileSync(`dist/page/assets/${file}`), 'base64')
const integrity = Object.fromEntries(files.map((file) => [file, `sha384-${hashOf(file)}`]))
writeFileSync('dist/page/assets.json', JSON.stringify({ ...entries, later, integrity }))
for (const name of ['page.html', 'box.html', 'buy.html', 'list.html', 'home.html'])
  copyFileSync(`buyer/page/${name}`, `dist/page/${name}`)
