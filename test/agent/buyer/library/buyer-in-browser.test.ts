/** The buyer without Node.js: bundled for browsers and Workers, and run in a browser with a storage of the page. */
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { build } from 'esbuild'
import { findBrowser, openBrowser } from '../../../support/browser.ts'
import { TESTNET_TERMS } from '../../../support/expected-terms.ts'
import { listen } from '../../../support/listen.ts'
import { startTestService } from '../../../support/service.ts'

/** Includes the start of the browser on a busy machine. */
const BROWSER_TIMEOUT_MS = 60_000
/** Compressed, as a page loads it. */
const GZIP_BYTES_MAX = 150_000
const VIEW = { width: 800, height: 600, isMobile: false, scheme: 'light' } as const

const entry = fileURLToPath(import.meta.resolve('irish-company-agent/client'))

/** The conditions under which a bundler chooses the files of packages. None of them offers the modules of Node.js. */
const TARGETS = { browsers: ['browser'], Workers: ['workerd', 'worker', 'browser'] }

async function bundle(conditions: string[]): Promise<string> {
  const { outputFiles, warnings } = await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'browser',
    conditions,
    format: 'esm',
    minify: true,
    write: false,
    logLevel: 'silent',
  })
  expect(warnings).to.deep.equal([])
  return outputFiles[0]?.text ?? ''
}

type Library = typeof import('../../../../agent/buyer/library/buyer.ts')

const PAGE = '<script type="module">import * as library from "/buyer.js"; globalThis.library = library</script>'

/**
 * Run in the page. The storage is a map, and the payment is signed twice if the second call does not find the first
 * one.
 */
async function buyTwice({ url, key, expected }: { url: string; key: string; expected: object }) {
  const { createBuyer, PurchaseError } = (globalThis as unknown as { library: Library }).library
  const entries = new Map<string, string>()
  const storage = {
    read: async (name: string) => entries.get(name),
    create: async (name: string, text: string) => !entries.has(name) && Boolean(entries.set(name, text)),
    replace: async (name: string, text: string) => void entries.set(name, text),
    list: async (prefix: string) => [...entries.keys()].filter((name) => name.startsWith(prefix)),
    locate: (name: string) => name,
  }
  const buyer = createBuyer({ key: key as `0x${string}`, folder: storage, expected })
  const bought = [await buyer.fetch(url), await buyer.fetch(url)]
  const poor = createBuyer({ key: `0x${'11'.repeat(32)}`, folder: storage, expected })
  const refusal: unknown = await poor.fetch(`${url}0`).catch((cause: unknown) => cause)
  const globals: Record<string, unknown> = { ...globalThis }
  return {
    nodeGlobals: ['process', 'Buffer', 'global'].filter((name) => name in globals),
    checks: bought.map(({ headers }) => headers.get('Receipt-Check')),
    texts: await Promise.all(bought.map((response) => response.text())),
    entries: [...entries.keys()].map((name) => name.replace(/[0-9a-f]{64}/, 'HASH').replace(/\d{4}-\d\d-\d\d/, 'DAY')),
    refusal: refusal instanceof PurchaseError ? [refusal.code, refusal.answer?.reason] : String(refusal),
  }
}

describe('the buyer in a browser', function () {
  this.timeout(BROWSER_TIMEOUT_MS)

  for (const [target, conditions] of Object.entries(TARGETS)) {
    it(`[15.9] is bundled for ${target} without a module of Node.js, in at most 150 KB`, async () => {
      const text = await bundle(conditions)
      expect(text)
        .to.contain('createBuyer')
        .and.not.to.match(/["']node:/)
      expect(gzipSync(text).length).to.be.below(GZIP_BYTES_MAX)
      const library = (await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`)) as Library
      const options = { key: `0x${'11'.repeat(32)}`, folder: 'purchases', expected: {} as never } as const
      expect(() => library.createBuyer(options)).to.throw('Without Node.js, folder must be a BuyerStorage')
    })
  }

  it('[15.9] buys once in a browser, in the storage of the page, and verifies the receipt', async function () {
    const program = findBrowser()
    if (program === undefined) {
      if (process.env['CI'] !== undefined) throw new Error('chromium is not on the PATH; .ci/run installs it')
      console.warn('\nSKIPPED: the test of the buyer in a browser, because chromium is not on the PATH\n')
      return this.skip()
    }
    const script = await bundle(TARGETS.browsers)
    // A page of a loopback address is a secure context, in which browsers offer WebCrypto.
    const pages = await listen(
      createServer(({ url }, response) => {
        const isScript = url === '/buyer.js'
        response.setHeader('Content-Type', isScript ? 'text/javascript' : 'text/html').end(isScript ? script : PAGE)
      }),
    )
    const service = await startTestService()
    const browser = await openBrowser(program)
    try {
      const page = await browser.open(VIEW)
      await page.goTo(pages.url)
      const expected = { ...TESTNET_TERMS, payTo: service.payTo, amountMax: 5000, amountPerDayMax: 10_000 }
      const options = { url: `${service.url}/api/v1/company/73848`, key: service.buyerKey, expected }
      const before = (await service.paid()).transfers
      const result = (await page.run(`(${String(buyTwice)})(${JSON.stringify(options)})`)) as Awaited<
        ReturnType<typeof buyTwice>
      >
      expect((await service.paid()).transfers - before).to.equal(1)
      expect(result.nodeGlobals).to.deep.equal([])
      expect(result.checks).to.deep.equal(['valid', 'valid'])
      expect(result.texts[0]).to.contain('"company_number":"73848"')
      expect(result.texts[1]).to.equal(result.texts[0])
      expect(result.refusal).to.deep.equal(['payment_refused', 'insufficient_funds'])
      expect(result.entries).to.have.members([
        'HASH-0.json',
        'spending-DAY-0.json',
        'HASH-0.json',
        'spending-DAY-1.json',
      ])
    } finally {
      await browser.close()
      await service.stop()
      pages.close()
    }
  })
})
