/** Tests of retrievals over HTTP: archives, CKAN resources, conditional requests, redirects and failures. */
import { readdir, readFile } from 'node:fs/promises'
import type { RequestListener, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import { Catalog } from '../../../store/dataset/catalog.ts'
import { downloadArchive } from '../../../store/import/download.ts'
import { importDataset } from '../../../store/import/run.ts'
import { CRO_COMPANIES, CRO_COMPANIES_LOCATION, minCompanyCount } from '../../../store/dataset/source.ts'
import { ENDINGS, startBodyServer } from '../../support/body-endings.ts'
import {
  sendCkanResult,
  redirectTo,
  sendBody,
  sendIfChanged,
  startPortal,
  type TestPortal,
} from '../../support/portal.ts'
import { numberedRows, toCsv, outcomeOf } from '../../support/register.ts'
import { buildZip } from '../../support/zip.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'

const register = (count: number) => buildZip({ name: 'companies.csv', content: toCsv(...numberedRows(count)) })

const ARCHIVE = '/download/companies.csv.zip'
const RESOURCE = '/dataset/companies/resource/r-1'
const RESOURCE_SHOW = '/api/3/action/resource_show?id=r-1'
const MODIFIED = 'Thu, 01 Jan 2026 04:05:06 GMT'

describe('a retrieval over HTTP', () => {
  let directory: string
  let catalog: Catalog
  let portal: TestPortal
  let clock: number

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    catalog = new Catalog(directory)
    portal = await startPortal()
    clock = Date.parse('2026-01-02T00:00:00Z')
  })
  afterEach(async () => {
    await portal.close()
    await catalog.close()
  })

  const retrieve = (path = ARCHIVE, change: Partial<Parameters<typeof importDataset>[0]> = {}) =>
    importDataset({
      dataDirectory: directory,
      catalog,
      path: path.startsWith('/') ? portal.url + path : path,
      publication: CRO_COMPANIES,
      now: () => new Date((clock += 1000)),
      ...change,
    })

  const updatedAt = () => catalog.retrieval()?.source.source_updated_at
  const retrievedAt = () => catalog.retrieval()?.source.retrieved_at ?? ''
  const buildingFolders = () => readdir(join(directory, 'building')).catch(() => [])

  describe('of an archive', () => {
    it('imports a ZIP with any content type and records the time that the server states', async () => {
      portal.on(ARCHIVE, sendBody(register(3), { 'content-type': 'text/html', 'last-modified': MODIFIED, etag: '"a"' }))
      const { changed, info } = await retrieve()
      expect({ changed, rows: info.row_count }).to.deep.equal({ changed: true, rows: 3 })
      expect(catalog.retrieval()).to.deep.include({
        location: portal.url + ARCHIVE,
        validators: { url: portal.url + ARCHIVE, etag: '"a"', last_modified: MODIFIED },
      })
      expect(updatedAt()).to.equal('2026-01-01T04:05:06.000Z')
      expect(await buildingFolders()).to.deep.equal([])
    })

    for (const validators of [
      { etag: '"a"' },
      { 'last-modified': MODIFIED },
      { etag: 'W/"a"', 'last-modified': MODIFIED },
    ]) {
      it(`[11.1] counts status 304 as a retrieval, by ${Object.keys(validators).join(' and ')}`, async () => {
        portal.on(ARCHIVE, sendIfChanged(register(3), validators))
        await retrieve()
        const first = catalog.retrieval()
        for (const _ of [2, 3]) {
          const before = retrievedAt()
          expect((await retrieve()).changed).to.equal(false)
          expect(retrievedAt() > before).to.equal(true)
        }
        expect(catalog.retrieval()).to.deep.include({
          snapshot_id: first?.snapshot_id,
          archive_sha256: first?.archive_sha256,
          validators: first?.validators,
        })
        expect(updatedAt()).to.equal(first?.source.source_updated_at)
      })
    }

    it('[11.1] counts the same bytes as a retrieval if the server has no validators', async () => {
      portal.on(ARCHIVE, sendBody(register(3)))
      await retrieve()
      const before = retrievedAt()
      expect((await retrieve()).changed).to.equal(false)
      expect(retrievedAt() > before).to.equal(true)
      expect(portal.requests[1]?.headers).to.not.have.any.keys('if-none-match', 'if-modified-since')
    })

    it('sends no condition if the validators belong to another URL', async () => {
      portal.on(ARCHIVE, sendIfChanged(register(3), { etag: '"a"' }))
      portal.on('/other.zip', sendIfChanged(register(4), { etag: '"a"' }))
      await retrieve()
      expect((await retrieve('/other.zip')).info.row_count).to.equal(4)
    })

    it('[11.11] refuses other bytes with an older time, unless an operator forces it', async () => {
      portal.on(ARCHIVE, sendBody(register(3), { 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT' }))
      await retrieve()
      const before = catalog.retrieval()
      portal.on(ARCHIVE, sendBody(register(4), { 'last-modified': 'Wed, 31 Dec 2025 23:59:59 GMT' }))
      expect(await outcomeOf(retrieve())).to.equal('source_older')
      expect(catalog.retrieval()).to.deep.equal(before)
      portal.on(ARCHIVE, sendBody(register(4), { 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT' }))
      expect((await retrieve()).info.row_count).to.equal(4)
      portal.on(ARCHIVE, sendBody(register(5), { 'last-modified': 'Thu, 01 Jan 2026 00:00:01 GMT' }))
      expect((await retrieve()).info.row_count).to.equal(5)
      portal.on(ARCHIVE, sendBody(register(6), { 'last-modified': 'Wed, 31 Dec 2025 00:00:00 GMT' }))
      expect((await retrieve(ARCHIVE, { isForced: true })).info.row_count).to.equal(6)
      portal.on('/other', sendBody(register(7), { 'last-modified': 'Mon, 01 Dec 2025 00:00:00 GMT' }))
      expect((await retrieve('/other')).info.row_count).to.equal(7)
    })

    it('[11.11] remembers the newest time while the source states none', async () => {
      portal.on(ARCHIVE, sendBody(register(3), { 'last-modified': 'Thu, 01 Jan 2026 00:00:00 GMT' }))
      await retrieve()
      portal.on(ARCHIVE, sendBody(register(4)))
      await retrieve()
      expect(updatedAt()).to.equal(null)
      const older = { 'last-modified': 'Wed, 31 Dec 2025 00:00:00 GMT' }
      portal.on(ARCHIVE, sendBody(register(4), older))
      expect(await retrieve()).to.include({ changed: false })
      portal.on(ARCHIVE, sendBody(register(5), older))
      expect(await outcomeOf(retrieve())).to.equal('source_older')
      await retrieve(ARCHIVE, { isForced: true })
      portal.on(ARCHIVE, sendBody(register(6), older))
      expect((await retrieve()).info.row_count).to.equal(6)
    })
  })

  describe('of a CKAN resource', () => {
    const resource = (facts: object) => sendCkanResult({ url: portal.url + ARCHIVE, format: 'CSV', ...facts })

    beforeEach(() => portal.on(ARCHIVE, sendBody(register(3), { 'last-modified': MODIFIED })))

    for (const location of [RESOURCE, RESOURCE_SHOW]) {
      it(`reads the archive's URL and time for ${location}`, async () => {
        portal.on(RESOURCE_SHOW, resource({ last_modified: '2025-12-30T01:02:03.456789', metadata_modified: null }))
        expect((await retrieve(location)).info.row_count).to.equal(3)
        expect(updatedAt()).to.equal('2025-12-30T01:02:03.456Z')
        expect(catalog.retrieval()?.location).to.equal(portal.url + location)
        expect(portal.requests.map(({ path }) => path)).to.deep.equal([RESOURCE_SHOW, ARCHIVE])
      })
    }

    it('fails if the portal answers a page, a failure, no URL or an invalid URL', async () => {
      const answers = [
        sendBody('<html>'),
        sendBody('{"success": false, "error": {}}'),
        sendCkanResult({}),
        sendCkanResult({ url: 'http://' }),
      ]
      for (const [index, answer] of answers.entries()) {
        portal.on(RESOURCE_SHOW, answer)
        expect(await outcomeOf(retrieve(RESOURCE)), String(index)).to.equal('source_answer')
      }
    })
  })

  describe('with redirects', () => {
    it('follows three, also to another loopback address, and keeps the condition', async () => {
      const other = await startPortal('localhost')
      try {
        portal.on('/1', redirectTo('/2', 301))
        portal.on('/2', redirectTo('3', 307))
        portal.on('/3', redirectTo(`${other.url}${ARCHIVE}`, 308))
        other.on(ARCHIVE, sendIfChanged(register(3), { etag: '"a"' }))
        expect((await retrieve('/1')).changed).to.equal(true)
        expect((await retrieve('/1')).changed).to.equal(false)
        expect(other.requests[1]?.headers['if-none-match']).to.equal('"a"')
      } finally {
        await other.close()
      }
    })

    it('fails at the fourth', async () => {
      portal.on('/loop', redirectTo('/loop'))
      expect(await outcomeOf(retrieve('/loop'))).to.equal('source_refused')
      expect(portal.requests).to.have.lengthOf(4)
    })

    it('[11.1] does not follow one that is not allowed', async () => {
      const targets = ['http://192.0.2.1/x', 'https://192.0.2.1/x', 'file:///etc/passwd', 'http://u:p@127.0.0.1/', '']
      for (const to of targets) {
        portal.on(ARCHIVE, redirectTo(to))
        expect(await outcomeOf(retrieve()), to).to.equal('source_refused')
      }
    })
  })

  it('[11.1] refuses a URL that may not be fetched', async () => {
    for (const location of ['http://192.0.2.1/x', 'http://127.0.0.1.example/', 'ftp://127.0.0.1/x', 'https://']) {
      expect(await outcomeOf(retrieve(location)), location).to.equal('source_refused')
    }
  })

  describe('that fails', () => {
    const PAGE = '<!DOCTYPE html><title>We value your privacy</title>'
    const FAILURES: [what: string, code: string, answer: RequestListener, limits?: object][] = [
      ['answers 500', 'source_status', (_, response) => void response.writeHead(500).end('sorry')],
      ['answers 206', 'source_status', (_, response) => void response.writeHead(206).end(register(3))],
      ['closes the connection', 'source_unreachable', (request) => void request.socket.destroy()],
      ['sends an HTML page', 'source_is_page', sendBody(PAGE, { 'content-type': 'text/csv' })],
      [
        'begins with an HTML page, in two parts, and sends no end',
        'source_is_page',
        (_, response) => {
          response.writeHead(200, { 'content-type': 'text/csv' }).write(PAGE)
          setTimeout(() => response.write(' '.repeat(512 - PAGE.length)), 20)
        },
        { idleMs: 5000 },
      ],
      ['sends an image', 'source_wrong_type', sendBody(Buffer.from('\u0089PNG\r\n\u001A\n\u0000', 'latin1'))],
      ['sends JSON', 'source_wrong_type', sendBody('{"success": true}')],
      ['sends an empty body', 'source_wrong_type', sendBody('')],
      ['hangs before it answers', 'source_timeout', () => undefined, { idleMs: 100 }],
      [
        'hangs within the body',
        'source_timeout',
        (_, response) => void response.writeHead(200).write('c'),
        { idleMs: 100 },
      ],
      [
        'announces too many bytes',
        'archive_too_large',
        (_, response) => void response.writeHead(200, { 'content-length': '5001' }).write('c'),
      ],
      ['sends too many bytes without a length', 'archive_too_large', sendEndlessly],
    ]

    for (const [what, code, answer, limits] of FAILURES) {
      it(`[11.1] ends with ${code} and keeps the current snapshot if the source ${what}`, async () => {
        portal.on('/good', sendBody(register(3)))
        await retrieve('/good')
        const before = catalog.retrieval()
        portal.on(ARCHIVE, answer)
        const outcome = outcomeOf(retrieve(ARCHIVE, { limits: { bytesMax: 5000, ...limits } }))
        expect(await outcome).to.equal(code)
        expect(catalog.retrieval()).to.deep.equal(before)
        expect(await buildingFolders()).to.deep.equal([])
      })
    }
  })

  describe('whose server ends the body', () => {
    const body = Buffer.from(toCsv(...numberedRows(800)))
    let server: Awaited<ReturnType<typeof startBodyServer>>
    before(async () => void (server = await startBodyServer(body)))
    after(() => server.close())

    for (const ending of ENDINGS) {
      it(`[11.1] ${ending.isWhole ? 'succeeds' : 'ends with source_cut'}: ${ending.name}`, async () => {
        server.use(ending)
        const download = downloadArchive({ location: server.url, folder: directory, validators: null })
        const outcome = await outcomeOf(download)
        expect(outcome).to.equal(ending.isWhole ? 'done' : 'source_cut')
        if (ending.isWhole) expect(body.equals(await readFile(join(directory, 'archive')))).to.equal(true)
      })
    }
  })

  describe('with fewer companies', () => {
    it('[11.2] than 500,000 is refused for the real register only', () => {
      expect(minCompanyCount(CRO_COMPANIES_LOCATION)).to.equal(500_000)
      expect(minCompanyCount('https://opendata.cro.ie/any.zip')).to.equal(500_000)
      expect(minCompanyCount('https://mirror.example/companies.zip')).to.equal(0)
      expect(minCompanyCount('/tmp/opendata.cro.ie.zip')).to.equal(0)
    })
  })
})

/** Sends an endless body without a length while the client reads. */
function sendEndlessly(_request: unknown, response: ServerResponse): void {
  response.writeHead(200)
  const send = (): void => {
    while (!response.destroyed && response.write('c'.repeat(1000)));
  }
  response.on('drain', send)
  send()
}
