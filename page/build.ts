/** Bundles the page into dist/page: its script with and without the account of the sandbox, and its style. */
import { copyFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

const ROOT = fileURLToPath(new URL('.', import.meta.resolve('#root/package.json')))

/** Modules that are replaced to make the bundle smaller: the page does not run them, or needs only a short form. */
const REPLACED: readonly (readonly [path: RegExp, text: string])[] = [
  [/library\/folder-storage\.ts$/, "export { openStorage } from './no-folder.ts'"],
  // The page has no private key.
  [/library\/private-key-signer\.ts$/, 'export const privateKeyToAccount = undefined'],
  // It names its operations by their definitions.
  [/library\/methods\.ts$/, 'export const createMethods = () => ({})'],
  [/library\/spending\.ts$/, 'export const openSpending = undefined, resetSpending = undefined'],
  // Only documents need JSON Schema.
  [/operation\/json-schema\.ts$/, 'export const toJsonSchema = () => ({})'],
  [/zod\/v4\/core\/json-schema-processors\.js$/, 'module.exports = {}'],
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
  // Every rule of an input has a text of its own.
  [/zod\/v4\/locales\/en\.js$/, "export default () => ({ localeError: () => 'is not valid' })"],
  [/zod\/v4\/core\/json-schema-generator\.js$/, 'export const JSONSchemaGenerator = 0'],
]

const replaceModules: Plugin = {
  name: 'replace-modules',
  setup(bundler) {
    for (const [filter, contents] of REPLACED)
      bundler.onLoad({ filter }, ({ path }) => ({ contents, resolveDir: dirname(path) }))
  },
}

for (const [name, hasAccount] of [
  ['page', false],
  ['page-sandbox', true],
] as const) {
  await build({
    absWorkingDir: ROOT,
    entryPoints: { [name]: 'page/main.ts' },
    outdir: 'dist/page',
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    legalComments: 'none',
    logLevel: 'warning',
    logOverride: { 'import-is-undefined': 'silent' },
    define: { SANDBOX: String(hasAccount) },
    plugins: [replaceModules],
  })
}
await build({ absWorkingDir: ROOT, entryPoints: ['page/page.css'], outdir: 'dist/page', minify: true })
await copyFile(`${ROOT}page/page.html`, `${ROOT}dist/page/page.html`)
