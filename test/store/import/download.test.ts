/** The retrieval over HTTP: what is taken, when nothing has changed, and every way a portal fails. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import type { RequestListener, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { openCatalog, type Catalog } from '../../../store/catalog.ts'
import { mayFetch, mayFollow, upgraded } from '../../../store/import/location.ts'
import { importDataset, type ImportRequest } from '../../../store/import/run.ts'
import { CRO_COMPANIES, CRO_COMPANIES_LOCATION, rowsMinOf } from '../../../store/source.ts'
import { PROCESSES } from '../../support/fixtures.ts'
import { answers, redirects, sends, sendsUnlessKnown, startPortal, type Portal } from '../../support/portal.ts'
import { aRow, csvOf, outcomeOf } from '../../support/register.ts'
import { zipOf } from '../../support/zip.ts'

const rows = (count: number) =>
  Array.from({ length: count }, (_, index) => aRow({ company_num: String(index + 1), company_name: `NUMBER ${index}` }))
const register = (count: number) => zipOf({ name: 'companies.csv', content: csvOf(...rows(count)) })

const ARCHIVE = '/download/companies.csv.zip'
const RESOURCE = '/dataset/companies/resource/r-1'
const RESOURCE_SHOW = '/api/3/action/resource_show?id=r-1'
const PACKAGE_SHOW = '/api/3/action/package_show?id=p-1'
const MODIFIED = 'Thu, 01 Jan 2026 04:05:06 GMT'

/** Long enough for a loopback answer on a busy machine, unless the test waits for it to end. */
const LIMITS = { idleMs: 10_000, totalMs: 10_000 }

describe('a retrieval over HTTP', () => {
  let directory: string
  let catalog: Catalog
  let portal: Portal
  let clock: number

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'download-'))
    catalog = openCatalog(directory)
    portal = await startPortal()
    clock = Date.parse('2026-01-02T00:00:00Z')
  })
  afterEach(async () => {
    await portal.close()
    await catalog.close()
    await rm(directory, { recursive: true })
  })

  const retrieve = (path = ARCHIVE, change: Partial<ImportRequest> = {}) =>
    importDataset({
      dataDirectory: directory,
      catalog,
      path: path.startsWith('/') ? portal.url + path : path,
      publication: CRO_COMPANIES,
      processes: PROCESSES,
      now: () => new Date((clock += 1000)),
      limits: LIMITS,
      ...change,
    })

  const updatedAt = () => catalog.retrieval()?.source.source_updated_at
  const retrievedAt = () => catalog.retrieval()?.source.retrieved_at ?? ''
  const leavings = () => readdir(join(directory, 'building')).catch(() => [])

  describe('of an archive', () => {
    it('takes the ZIP whatever the server calls it, with the time that the server gives', async () => {
      portal.on(ARCHIVE, sends(register(3), { 'content-type': 'text/html', 'last-modified': MODIFIED, etag: '"a"' }))
      const { changed, info } = await retrieve()
      expect({ changed, rows: info.row_count }).to.deep.equal({ changed: true, rows: 3 })
      expect(catalog.retrieval()).to.deep.include({
        location: portal.url + ARCHIVE,
        validators: { url: portal.url + ARCHIVE, etag: '"a"', last_modified: MODIFIED },
      })
      expect(updatedAt()).to.equal('2026-01-01T04:05:06.000Z')
      expect(await leavings()).to.deep.equal([])
    })

    it('takes a bare CSV, whose time nobody knows', async () => {
      portal.on(ARCHIVE, sends(`\uFEFF${csvOf(...rows(2))}`))
      expect((await retrieve()).info.row_count).to.equal(2)
      expect(updatedAt()).to.equal(null)
      expect(catalog.retrieval()?.validators).to.equal(null)
    })

    for (const validators of [
      { etag: '"a"' },
      { 'last-modified': MODIFIED },
      { etag: 'W/"a"', 'last-modified': MODIFIED },
    ]) {
      it(`is fresh again without being sent again, by ${Object.keys(validators).join(' and ')}`, async () => {
        portal.on(ARCHIVE, sendsUnlessKnown(register(3), validators))
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

    it('is fresh again by its bytes where the server has no validators', async () => {
      portal.on(ARCHIVE, sends(register(3)))
      await retrieve()
      const before = retrievedAt()
      expect((await retrieve()).changed).to.equal(false)
      expect(retrievedAt() > before).to.equal(true)
      expect(portal.asked[1]?.headers).to.not.have.any.keys('if-none-match', 'if-modified-since')
    })

    it('takes the new one when it has changed', async () => {
      portal.on(ARCHIVE, sendsUnlessKnown(register(3), { etag: '"a"' }))
      await retrieve()
      portal.on(ARCHIVE, sendsUnlessKnown(register(4), { etag: '"b"' }))
      expect(await retrieve()).to.deep.include({ changed: true })
      expect(catalog.retrieval()?.validators?.etag).to.equal('"b"')
    })

    it('asks for the whole when the validators are of another address', async () => {
      portal.on(ARCHIVE, sendsUnlessKnown(register(3), { etag: '"a"' }))
      portal.on('/other.zip', sendsUnlessKnown(register(4), { etag: '"a"' }))
      await retrieve()
      expect((await retrieve('/other.zip')).info.row_count).to.equal(4)
    })

    it('asks for the whole when what was served is lost', async () => {
      portal.on(ARCHIVE, sendsUnlessKnown(register(3), { etag: '"a"' }))
      await retrieve()
      await catalog.close()
      await rm(join(directory, 'snapshots'), { recursive: true })
      catalog = openCatalog(directory)
      expect((await retrieve()).changed).to.equal(true)
      expect(catalog.current()?.snapshot.find('1')).to.include({ legal_name: 'NUMBER 0' })
    })

    it('does not believe a time that is yet to come', async () => {
      portal.on(ARCHIVE, sends(register(3), { 'last-modified': 'Fri, 02 Jan 2026 00:00:02 GMT' }))
      await retrieve()
      expect(updatedAt()).to.equal(null)
    })
  })

  describe('of a resource of the portal', () => {
    const resource = (facts: object) => answers({ url: portal.url + ARCHIVE, format: 'CSV', ...facts })

    beforeEach(() => portal.on(ARCHIVE, sends(register(3), { 'last-modified': MODIFIED })))

    for (const location of [RESOURCE, RESOURCE_SHOW]) {
      it(`asks at ${location} where the archive is and when it was updated`, async () => {
        portal.on(RESOURCE_SHOW, resource({ last_modified: '2025-12-30T01:02:03.456789', metadata_modified: null }))
        expect((await retrieve(location)).info.row_count).to.equal(3)
        expect(updatedAt()).to.equal('2025-12-30T01:02:03.456Z')
        expect(catalog.retrieval()?.location).to.equal(portal.url + location)
        expect(portal.asked.map(({ path }) => path)).to.deep.equal([RESOURCE_SHOW, ARCHIVE])
      })
    }

    it('takes the time of its metadata, then that of its package', async () => {
      portal.on(RESOURCE_SHOW, resource({ last_modified: null, metadata_modified: '2025-12-29T00:00:00' }))
      await retrieve(RESOURCE)
      expect(updatedAt()).to.equal('2025-12-29T00:00:00.000Z')
      portal.on(RESOURCE_SHOW, resource({ package_id: 'p-1' }))
      portal.on(PACKAGE_SHOW, answers({ metadata_modified: '2025-12-28T00:00:00' }))
      await retrieve(RESOURCE)
      expect(updatedAt()).to.equal('2025-12-28T00:00:00.000Z')
    })

    it('does without the times that the portal leaves out', async () => {
      portal.on(RESOURCE_SHOW, resource({ package_id: 'p-1', last_modified: 'yesterday', metadata_modified: 7 }))
      expect((await retrieve(RESOURCE)).changed).to.equal(true)
      expect(updatedAt()).to.equal('2026-01-01T04:05:06.000Z')
    })

    for (const [what, answer] of [
      ['a page', sends('<html>')],
      ['a failure', sends('{"success": false, "error": {}}')],
      ['no address', answers({})],
      ['an address that is none', answers({ url: 'http://' })],
    ] as [string, RequestListener][]) {
      it(`gives up when the portal answers ${what}`, async () => {
        portal.on(RESOURCE_SHOW, answer)
        expect(await outcomeOf(retrieve(RESOURCE))).to.equal('source_answer')
      })
    }

    it('does not follow the portal to another machine without TLS', async () => {
      portal.on(RESOURCE_SHOW, answers({ url: 'http://192.0.2.1/companies.zip' }))
      expect(await outcomeOf(retrieve(RESOURCE))).to.equal('source_refused')
    })
  })

  describe('that is redirected', () => {
    it('follows three times, also to another loopback address, and stays conditional', async () => {
      const other = await startPortal('localhost')
      try {
        portal.on('/1', redirects('/2', 301))
        portal.on('/2', redirects('3', 307))
        portal.on('/3', redirects(`${other.url}${ARCHIVE}`, 308))
        other.on(ARCHIVE, sendsUnlessKnown(register(3), { etag: '"a"' }))
        expect((await retrieve('/1')).changed).to.equal(true)
        expect((await retrieve('/1')).changed).to.equal(false)
        expect(other.asked[1]?.headers['if-none-match']).to.equal('"a"')
      } finally {
        await other.close()
      }
    })

    it('gives up at the fourth', async () => {
      portal.on('/loop', redirects('/loop'))
      expect(await outcomeOf(retrieve('/loop'))).to.equal('source_refused')
      expect(portal.asked).to.have.lengthOf(4)
    })

    for (const to of ['http://192.0.2.1/x', 'https://192.0.2.1/x', 'file:///etc/passwd', 'http://u:p@127.0.0.1/', '']) {
      it(`does not go to "${to}"`, async () => {
        portal.on(ARCHIVE, redirects(to))
        expect(await outcomeOf(retrieve())).to.equal('source_refused')
      })
    }

    it('stays within https, which never leads to http, not even here', () => {
      const url = (text: string) => new URL(text)
      expect(mayFollow(url('https://a.example'), url('https://b.example'))).to.equal(true)
      expect(mayFollow(url('https://a.example'), url('http://b.example'))).to.equal(false)
      expect(mayFollow(url('https://a.example'), url('http://127.0.0.1'))).to.equal(false)
    })
  })

  describe('of a resource whose portal names its archive by http', () => {
    const asked: string[] = []
    const { fetch } = globalThis
    beforeEach(() => {
      asked.length = 0
      // An https portal with a certificate can't be had on a loopback address.
      globalThis.fetch = async (input) => {
        const url = input instanceof URL ? input.href : ''
        asked.push(url)
        return url.includes('resource_show')
          ? Response.json({ success: true, result: { url: named, last_modified: '2026-01-01T00:00:00' } })
          : new Response(csvOf(...rows(3)))
      }
    })
    afterEach(() => {
      globalThis.fetch = fetch
    })
    let named = ''

    it('asks the same host by https', async () => {
      named = 'http://portal.example/a.zip?b=c'
      expect((await retrieve('https://portal.example/dataset/d/resource/r')).info.row_count).to.equal(3)
      expect(asked).to.deep.equal([
        'https://portal.example/api/3/action/resource_show?id=r',
        'https://portal.example/a.zip?b=c',
      ])
    })

    for (const elsewhere of [
      'http://other.example/a.zip',
      'http://portal.example:8080/a.zip',
      'http://127.0.0.1/a.zip',
      'http://u:p@portal.example/a.zip',
      'ftp://portal.example/a.zip',
    ]) {
      it(`refuses ${elsewhere} and asks for nothing more`, async () => {
        named = elsewhere
        expect(await outcomeOf(retrieve('https://portal.example/dataset/d/resource/r'))).to.equal('source_refused')
        expect(asked).to.have.lengthOf(1)
      })
    }

    it('changes nothing where both are on loopback', () => {
      const [from, to] = [new URL('http://127.0.0.1:1/a'), new URL('http://127.0.0.1:1/b')]
      expect(upgraded(from, to).href).to.equal(to.href)
    })
  })

  it('does not begin where it may not ask', async () => {
    expect(mayFetch(new URL('https://user:password@a.example'))).to.equal(false)
    for (const location of ['http://192.0.2.1/x', 'http://127.0.0.1.example/', 'ftp://127.0.0.1/x', 'https://']) {
      expect(await outcomeOf(retrieve(location)), location).to.equal('source_refused')
    }
  })

  describe('that fails', () => {
    const PAGE = '<!DOCTYPE html><title>We value your privacy</title>'
    const FAILURES: [what: string, fault: string, answer: RequestListener][] = [
      ['answers 500', 'source_status', (_, response) => void response.writeHead(500).end('sorry')],
      ['answers 304 to no condition', 'source_status', (_, response) => void response.writeHead(304).end()],
      ['answers 206', 'source_status', (_, response) => void response.writeHead(206).end(register(3))],
      ['closes without a word', 'source_unreachable', (request) => void request.socket.destroy()],
      ['sends a page', 'source_is_page', sends(PAGE, { 'content-type': 'text/csv' })],
      ['sends a page after white space', 'source_is_page', sends(`\uFEFF\r\n  ${PAGE}`)],
      ['calls its text a page', 'source_is_page', sends('Please wait', { 'content-type': 'text/html; charset=utf-8' })],
      ['sends an image', 'source_wrong_type', sends(Buffer.from('\u0089PNG\r\n\u001A\n\u0000', 'latin1'))],
      ['sends JSON', 'source_wrong_type', sends('{"success": true}')],
      ['sends nothing', 'source_wrong_type', sends('')],
      ['sends another table', 'wrong_header', sends('a,b\n1,2\n')],
      ['sends half a ZIP', 'archive_damaged', sends(register(3).subarray(0, 200))],
      ['breaks off', 'source_cut', breaksOff({ 'content-length': '4000' })],
      ['breaks off between chunks', 'source_cut', breaksOff({})],
      ['hangs before it answers', 'source_timeout', () => undefined],
      ['hangs in the middle', 'source_timeout', (_, response) => void response.writeHead(200).write('company_num')],
      [
        'announces too much',
        'archive_too_large',
        (_, response) => void response.writeHead(200, { 'content-length': '5001' }).write('c'),
      ],
      ['sends too much unannounced', 'archive_too_large', floods],
    ]

    for (const [what, fault, answer] of FAILURES) {
      it(`says ${fault} of a source that ${what}, and leaves what is served`, async () => {
        portal.on('/good', sends(register(3)))
        await retrieve('/good')
        const before = catalog.retrieval()
        portal.on(ARCHIVE, answer)
        const limits = { ...LIMITS, bytesMax: 5000, ...(fault === 'source_timeout' ? { idleMs: 100 } : {}) }
        expect(await outcomeOf(retrieve(ARCHIVE, { limits }))).to.equal(fault)
        expect(catalog.retrieval()).to.deep.equal(before)
        expect(await leavings()).to.deep.equal([])
      })
    }

    it('says source_timeout of a source that drips', async () => {
      let drip: NodeJS.Timeout | undefined
      portal.on(ARCHIVE, (_, response) => {
        response.writeHead(200)
        drip = setInterval(() => response.write('c'), 20)
      })
      expect(await outcomeOf(retrieve(ARCHIVE, { limits: { idleMs: 10_000, totalMs: 200 } }))).to.equal(
        'source_timeout',
      )
      clearInterval(drip)
    })

    it('says source_unreachable when nobody listens', async () => {
      const gone = await startPortal()
      await gone.close()
      const fault = await retrieve(gone.url).catch((cause: unknown) => cause)
      expect(fault).to.include({
        fault: 'source_unreachable',
        message: 'the source cannot be reached (ECONNREFUSED)',
      })
    })

    it('takes exactly as much as it may', async () => {
      const archive = register(3)
      portal.on(ARCHIVE, sends(archive))
      const within = (bytesMax: number) => outcomeOf(retrieve(ARCHIVE, { limits: { ...LIMITS, bytesMax } }))
      expect(await within(archive.length - 1)).to.equal('archive_too_large')
      expect(await within(archive.length)).to.equal('done')
    })
  })

  it('ends at once, and leaves nothing, when it is stopped', async () => {
    const asked = new Promise<void>((resolve) => {
      portal.on(ARCHIVE, (_, response) => {
        response.writeHead(200).write('company_num')
        resolve()
      })
    })
    const controller = new AbortController()
    const outcome = outcomeOf(retrieve(ARCHIVE, { signal: controller.signal }))
    await asked
    controller.abort()
    expect(await outcome).to.equal('stopped')
    expect(await leavings()).to.deep.equal([])
    expect(await outcomeOf(retrieve(ARCHIVE, { signal: controller.signal }))).to.equal('stopped')
  })

  describe('that has fewer rows', () => {
    it('than nine tenths of what the same location gave is refused', async () => {
      portal.on(ARCHIVE, sends(register(20)))
      await retrieve()
      const before = catalog.retrieval()
      portal.on(ARCHIVE, sends(register(17)))
      expect(await outcomeOf(retrieve())).to.equal('rows_lost')
      expect(catalog.retrieval()).to.deep.equal(before)
      expect(await readdir(join(directory, 'snapshots'))).to.have.lengthOf(1)
      portal.on(ARCHIVE, sends(register(18)))
      expect(await outcomeOf(retrieve())).to.equal('done')
    })

    it('than another location gave is taken', async () => {
      portal.on('/other', sends(register(20)))
      portal.on(ARCHIVE, sends(register(2)))
      await retrieve('/other')
      expect(await outcomeOf(retrieve())).to.equal('done')
    })

    it('than its location is believed is refused', async () => {
      portal.on(ARCHIVE, sends(register(4)))
      expect(await outcomeOf(retrieve(ARCHIVE, { rowsMin: 5 }))).to.equal('too_few_rows')
      expect(await outcomeOf(retrieve(ARCHIVE, { rowsMin: 4 }))).to.equal('done')
    })

    it('than half a million is refused where it is the register, and nowhere else', () => {
      expect(rowsMinOf(CRO_COMPANIES_LOCATION)).to.equal(500_000)
      expect(rowsMinOf('https://opendata.cro.ie/any.zip')).to.equal(500_000)
      expect(rowsMinOf('https://mirror.example/companies.zip')).to.equal(0)
      expect(rowsMinOf('/tmp/opendata.cro.ie.zip')).to.equal(0)
    })
  })
})

/** Sends a little of what it announced, then cuts the connection. */
function breaksOff(headers: Record<string, string>): RequestListener {
  return (request, response) => {
    response.writeHead(200, headers)
    response.write(csvOf(...rows(2)), () => request.socket.destroy())
  }
}

/** Sends without end and without a length, for as long as it is read. */
function floods(_request: unknown, response: ServerResponse): void {
  response.writeHead(200)
  const pour = (): void => {
    while (!response.destroyed && response.write('c'.repeat(1000)));
  }
  response.on('drain', pour)
  pour()
}
