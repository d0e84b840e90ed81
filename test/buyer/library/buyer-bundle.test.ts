/** The buyer's library bundled for browsers and Workers. The tests of the page buy with it in a browser. */
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { build } from 'esbuild'

/** Compressed, as a page loads it. */
const GZIP_BYTES_MAX = 110_000

const entry = fileURLToPath(import.meta.resolve('irish-company-agent/client'))

/** The conditions under which a bundler chooses the files of packages. None of them offers the modules of Node.js. */
const TARGETS = { browsers: ['browser'], Workers: ['workerd', 'worker', 'browser'] }

type Library = typeof import('../../../buyer/library/buyer.ts')

describe("the bundle of the buyer's library", () => {
  for (const [target, conditions] of Object.entries(TARGETS)) {
    it(`[15.9] for ${target} has no module or global of Node.js, and at most 110 KB`, async () => {
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
      const [{ text } = expect.fail('no bundle')] = outputFiles
      expect(text).not.to.match(/["']node:|(?<![.\w$])(?:Buffer|process|global)[.[]/)
      expect(gzipSync(text).length).to.be.below(GZIP_BYTES_MAX)
      const library = (await import(`data:text/javascript;base64,${Buffer.from(text).toString('base64')}`)) as Library
      const options = { key: `0x${'11'.repeat(32)}`, folder: 'purchases', expected: {} as never } as const
      expect(() => library.createBuyer(options)).to.throw('Without Node.js, folder must be a BuyerStorage')
    })
  }
})
