/** The buyer's library bundled for browsers and Workers. The tests of the page buy with it in a browser. */
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { build, type BuildOptions } from 'esbuild'

/** Compressed, as a page loads it. */
const GZIP_BYTES_MAX = 110_000

const entry = fileURLToPath(import.meta.resolve('irish-company-agent/client'))

/** How a bundler chooses the files of packages. None of these offers the modules of Node.js. */
const TARGETS = {
  browsers: { platform: 'browser', conditions: ['browser'] },
  Workers: { platform: 'browser', conditions: ['workerd', 'worker', 'browser'] },
  'no platform': { platform: 'neutral' },
} satisfies Record<string, BuildOptions>

type Library = typeof import('../../../buyer/library/buyer.ts')

describe("the bundle of the buyer's library", () => {
  for (const [target, options] of Object.entries(TARGETS)) {
    it(`[15.9] for ${target} has no module or global of Node.js, and at most 110 KB`, async () => {
      const { outputFiles, warnings } = await build({
        entryPoints: [entry],
        bundle: true,
        ...options,
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
      const key: string = `0x${'11'.repeat(32)}`
      expect(() => library.createBuyer({ key, folder: 'purchases' })).to.throw(
        'folder must be a BuyerStorage without Node.js',
      )
    })
  }
})
