/** Bundles the page into dist/page: its script, that of the account of the sandbox, and its style. */
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** Modules that are replaced to make the bundle smaller: the page does not run them, or needs only a short form. */
const REPLACED: readonly (readonly [path: RegExp, text: string])[] = [
  [/library\/folder-storage\.ts$/, "export { openStorage } from './no-folder.ts'"],
  // The page has no private key.
  [/library\/private-key-signer\.ts$/, 'export const privateKeyToAccount = undefined'],
  // Only documents need JSON Schema.
  [/operation\/json-schema\.ts$/, 'export const toJsonSchema = () => ({})'],
  // The page shows messages of its own.
  [/zod\/v4\/locales\/en\.js$/, 'export default () => ({ localeError: ({ code }) => code })'],
  [/zod\/v4\/core\/json-schema-(processors|generator)\.js$/, 'module.exports = {}'],
  [
    /zod\/v4\/core\/to-json-schema\.js$/,
    `export const createToJSONSchemaMethod = () => undefined
     export const createStandardJSONSchemaMethod = () => undefined
     export const initializeContext = 0, process = 0, extractDefs = 0, finalize = 0`,
  ],
  [
    /safe-stable-stringify\/esm\/wrapper\.js$/,
    `const sort = ([one], [other]) => (one < other ? -1 : 1)
     const sorted = (value) => value && typeof value === 'object' && !Array.isArray(value)
       ? Object.fromEntries(Object.entries(value).sort(sort)) : value
     export const configure = () => (value) => JSON.stringify(value, (_, each) => sorted(each))`,
  ],
  [
    /viem\/_esm\/utils\/hash\/sha256\.js$/,
    `import { sha256 as hash } from '@noble/hashes/sha256'
     const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
     export const sha256 = (bytes) => '0x' + toHex(hash(bytes))`,
  ],
]

await build({
  absWorkingDir: fileURLToPath(new URL('.', import.meta.resolve('#root/package.json'))),
  entryPoints: ['page/main.ts', 'page/sandbox.ts', 'page/page.css', 'page/page.html'],
  outdir: 'dist/page',
  bundle: true,
  minify: true,
  format: 'esm',
  target: 'es2022',
  loader: { '.html': 'copy' },
  legalComments: 'none',
  plugins: [
    {
      name: 'replace-modules',
      setup(bundler) {
        for (const [filter, contents] of REPLACED)
          bundler.onLoad({ filter }, ({ path }) => ({ contents, resolveDir: dirname(path) }))
      },
    },
  ],
})
