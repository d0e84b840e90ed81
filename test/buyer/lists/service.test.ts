/**
 * The command `reconcile-service`, with requests as OpenRefine 3.8 to 3.10 sends them, the real service and real
 * payments.
 */
import { request as httpRequest } from 'node:http'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import { z } from 'zod'
import { createBuyer } from '../../../buyer/library/buyer.ts'
import { dateOfSource, type Source } from '../../../store/dataset/source.ts'
import { runCommand, type CliResult } from '../../support/cli.ts'
import { startTestService } from '../../support/service.ts'
import { makeTemporaryDirectory } from '../../support/temporary-directory.ts'
import { useService } from '../../support/use-service.ts'

/** A candidate, as the published schema of a result batch requires it. No other member is accepted. */
const candidateSchema = z.strictObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  type: z.array(z.strictObject({ id: z.string(), name: z.string() })),
  score: z.number().min(0).max(100),
  features: z.array(z.strictObject({ id: z.string(), value: z.union([z.boolean(), z.number()]) })),
  match: z.boolean(),
})
const batchSchema = z.record(z.string(), z.strictObject({ result: z.array(candidateSchema) }))

/** OpenRefine sends queries from its server. */
const FORM = {
  'Content-Type': 'application/x-www-form-urlencoded; charset=UTF-8',
  'Accept-Encoding': 'gzip, x-gzip, deflate',
  'User-Agent': 'OpenRefine 3.10.1',
}

describe('[15.12, 15.24] the command reconcile-service', function () {
  this.timeout(240_000)
  const { service } = useService(() => startTestService())
  let directory: string
  const stops: (() => Promise<unknown>)[] = []

  beforeEach(async () => {
    directory = await makeTemporaryDirectory()
    await writeFile(join(directory, 'buyer.key'), service.buyerKey, { mode: 0o600 })
  })
  afterEach(async () => {
    for (const stop of stops.splice(0)) await stop()
  })

  /** Starts the command, and returns the URL that it prints. */
  async function start(args: string[] = [], url = service.url): Promise<string> {
    const controller = new AbortController()
    let ended: Promise<CliResult> | undefined
    const ready = new Promise<string>((resolve, reject) => {
      const required = ['--url', url, '--key-file', join(directory, 'buyer.key'), '--folder', join(directory, 'folder')]
      ended = runCommand(['reconcile-service', ...required, '--port', '0', ...args], {
        interrupted: () => controller.signal,
        print(line) {
          const found = /^ready (\S+)$/.exec(line)?.[1]
          if (found !== undefined) resolve(found)
        },
      })
      ended.then(({ stderr }) => reject(new Error(stderr)), reject)
    })
    stops.push(async () => {
      controller.abort()
      expect((await ended)?.code).to.equal(0)
    })
    return ready
  }
  /** As `HttpClient.postNameValue` of OpenRefine. */
  const post = (
    url: string,
    queries: object,
    headers: Record<string, string> = FORM,
    form: Record<string, string> = { queries: JSON.stringify(queries) },
  ) => fetch(url, { method: 'POST', headers, body: new URLSearchParams(form).toString() })
  const resultsOf = async (response: Response) => {
    expect(response.status).to.equal(200)
    return batchSchema.parse(await response.json())
  }

  it('has a manifest for version 0.2, which a page of OpenRefine can read', async () => {
    const url = await start()
    for (const [origin, site] of [
      ['http://127.0.0.1:3333', 'same-site'],
      ['http://localhost:3333', 'cross-site'],
    ] as const) {
      const response = await fetch(url, { headers: { Origin: origin, 'Sec-Fetch-Site': site } })
      expect(response.headers.get('Access-Control-Allow-Origin')).to.equal(origin)
      expect(await response.json()).to.deep.equal({
        versions: ['0.2'],
        name: 'Irish companies (paid)',
        identifierSpace: `${service.url}/api/v1/company/`,
        schemaSpace: `${service.url}/docs/api.md`,
        documentation: `${service.url}/docs`,
        serviceVersion: '1.0.0',
        defaultTypes: [{ id: 'company', name: 'Irish company' }],
        batchSize: 10,
        view: { url: `${service.url}/api/v1/company/{{id}}` },
        preview: { url: `${url}preview?id={{id}}`, width: 420, height: 260 },
        extend: { propose_properties: { service_url: url, service_path: 'properties' }, property_settings: [] },
      })
    }
  })

  it('matches only what is decided, and gives undecided candidates with scores and features', async () => {
    const url = await start()
    const properties = [
      { pid: 'Company Number', v: { id: '5004', name: 'x' } },
      { pid: 'address', v: ['4 Numbered', 'y'] },
    ]
    const queries = {
      q0: { query: 'Plain Fixture Ltd', type: 'company', type_strict: 'should' },
      q1: { query: 'Twin Fixture Limited', type: 'company', type_strict: 'should' },
      q2: { query: 'Unheard Of Holdings' },
      q3: { query: 'ab' },
      q4: { query: '999999' },
      q5: { query: '1002' },
      q6: { query: 'Plain Fixture', properties: [{ pid: 'eircode', v: 'D02X285' }] },
      q7: { query: 'Numbered Fixture 4', properties },
      q8: { query: 'Numbered Fixture 5', properties: [{ pid: 'company_number', v: 5005 }] },
      q9: { query: 'Plain Fixture', properties: [{ pid: 'eircode', v: 'D02 X286' }] },
      ...Object.fromEntries(['', 'Al', 'x'.repeat(700)].map((query, at) => [`short${at}`, { query }])),
    }
    const { q3, q4, q9, short0, short1, short2, ...first } = queries as Record<string, object>
    const results: z.infer<typeof batchSchema> = {}
    const buy = async () => {
      for (const batch of [first, { q3, q4, q9, short0, short1, short2 }])
        Object.assign(results, await resultsOf(await post(url, batch)))
    }
    expect(await service.transfersOf(buy)).to.equal(8)
    // The Eircode of another company contradicts the name.
    expect(results['q9']?.result[0]).to.deep.include({ id: '73848', score: 50, match: false })
    for (const query of ['q2', 'q3', 'q4', 'q9', 'short0', 'short1', 'short2']) {
      if (query !== 'q9') expect(results[query]?.result, query).to.deep.equal([])
      delete results[query]
    }
    expect(Object.keys(results)).to.deep.equal(['q0', 'q1', 'q5', 'q6', 'q7', 'q8'])
    const matches = Object.values(results).map(({ result }) => result.filter(({ match }) => match).map(({ id }) => id))
    expect(matches).to.deep.equal([['73848'], [], ['1002'], [], ['5004'], ['5005']])
    // The Eircode of the query contradicts the one of the register.
    expect(results['q6']?.result[0]?.features).to.deep.include({ id: 'eircode_mismatch', value: true })
    const twins = results['q1']?.result ?? []
    expect(twins.slice(0, 2).map(({ id }) => id)).to.have.members(['1004', '1005'])
    expect(twins[0]?.features).to.deep.include({ id: 'strict_name_exact', value: true })
    for (const { result } of Object.values(results)) {
      const scores = result.map(({ score }) => score)
      expect(scores).to.deep.equal(scores.toSorted((one, other) => other - one))
      // OpenRefine matches a value only to the first candidate.
      expect(result.findIndex(({ match }) => match)).to.be.at.most(0)
      for (const { features } of result) expect(new Set(features.map(({ id }) => id)).size).to.equal(features.length)
    }
  })

  it('shows and extends with records that were bought, and buys the others by lookup', async () => {
    const url = await start()
    // As the frame of a preview in a page of another loopback name.
    const headers = { 'Sec-Fetch-Site': 'cross-site' }
    const preview = async (id: string) => (await fetch(`${url}preview?id=${id}`, { headers })).text()
    const extend = async (ids: string[]) => {
      const body = JSON.stringify({ ids, properties: [{ id: 'status' }, { id: 'registered_date' }] })
      return (await post(url, {}, FORM, { extend: body })).json()
    }
    const paid = await service.transfersOf(async () => {
      for (const id of ['1002', '5001']) expect(await preview(id)).to.contain('This record was not bought')
      await post(url, { q0: { query: '1002' } })
      expect(await preview('1002')).to.contain('ALÉO FIXTURE TEORANTA')
      const row = { status: [{ str: 'Normal' }], registered_date: [{ date: '2021-01-19T00:00:00Z' }] }
      expect(await extend(['1002', '1003', '999999'])).to.deep.equal({
        meta: [
          { id: 'status', name: 'Status' },
          { id: 'registered_date', name: 'Registered' },
        ],
        rows: {
          1002: row,
          1003: { status: [{ str: 'Dissolved' }], registered_date: [] },
          999999: { status: [], registered_date: [] },
        },
      })
      expect(await extend(['1003'])).to.have.property('rows')
      const { properties } = (await (await fetch(`${url}properties?type=company`)).json()) as { properties: object[] }
      expect(properties).to.deep.include({ id: 'dissolved_date', name: 'Dissolved' })
    })
    expect(paid).to.equal(2)
  })

  it('pays once for the values that OpenRefine sends to guess types and again to reconcile, also after a restart', async () => {
    const values = ['Twin Fixture Limited', 'Aléo Fixture Teo', 'Ó Fixture\'s & Sons 100%+ "Ltd"']
    const batchOf = (others: object) =>
      Object.fromEntries(values.map((query, index) => [`q${index}`, { query, ...others }]))
    const paid = await service.transfersOf(async () => {
      const guessed = await resultsOf(await post(await start(), batchOf({ limit: 3 })))
      for (const stop of stops.splice(0)) await stop()
      const url = await start()
      const reconciled = await resultsOf(await post(url, batchOf({ type: 'company', type_strict: 'should' })))
      for (const [key, { result }] of Object.entries(reconciled))
        expect(guessed[key]?.result, key).to.deep.equal(result.slice(0, 3))
      expect(reconciled['q1']?.result[0]).to.include({ id: '1002', match: true })
      // A limit of the dialog, and a value with other spaces.
      const spaced = await resultsOf(await post(url, { q0: { query: ' Twin  Fixture Limited ', limit: 1 } }))
      expect(spaced['q0']?.result.length).to.equal(1)
    })
    expect(paid).to.equal(3)
  })

  it('leaves out the query that would exceed --max-per-day, and answers the others', async () => {
    const url = await start(['--max-per-day', '0.004'])
    const paid = await service.transfersOf(async () => {
      await resultsOf(await post(url, { q0: { query: 'Numbered Fixture 1' }, q1: { query: 'Numbered Fixture 2' } }))
      const partly = await post(url, { q0: { query: 'Numbered Fixture 1' }, q1: { query: 'Numbered Fixture 3' } })
      expect(Object.keys(await resultsOf(partly))).to.deep.equal(['q0'])
      const refused = await post(url, { q1: { query: 'Numbered Fixture 3' } })
      expect([refused.status, refused.statusText]).to.deep.equal([403, 'day_limit_reached'])
      await resultsOf(await post(url, { q0: { query: 'Numbered Fixture 2' } }))
    })
    expect(paid).to.equal(2)
  })

  it('answers queries that are not valid, or of a foreign type, without candidates and without a purchase', async () => {
    const url = await start()
    const paid = await service.transfersOf(async () => {
      const results = await resultsOf(
        await post(url, {
          none: null,
          number: 7,
          short: { query: 'A' },
          text: { query: 7 },
          valueless: { query: 'Numbered Fixture 4', properties: [{ pid: 'eircode' }] },
          unknown: { query: 'Numbered Fixture 4', properties: [{ pid: 'VAT number', v: 'x' }] },
          foreign: { query: 'Numbered Fixture 4', type: 'person' },
          listed: { query: 'Numbered Fixture 4', type: [{ id: 'person' }] },
          right: { query: 'Numbered Fixture 4', type: [{ id: 'company' }], limit: '1', properties: null },
          left: { query: 'Numbered Fixture 4', type: null, limit: null },
        }),
      )
      const { right, left, ...others } = results
      expect(Object.keys(others)).to.have.length(8)
      for (const [key, { result }] of Object.entries(others)) expect(result, key).to.deep.equal([])
      expect(right?.result).to.have.length(1)
      expect(left?.result[0]).to.deep.equal(right?.result[0])
    })
    expect(paid).to.equal(1)
  })

  it('refuses requests of other web pages, and of names that are bound to this address', async () => {
    const url = await start()
    const query = { q0: { query: 'Numbered Fixture 9' } }
    const get = `?queries=${encodeURIComponent(JSON.stringify(query))}`
    const statusWith = (headers: Record<string, string>, path = get) =>
      new Promise<number>((resolve, reject) => {
        const sent = httpRequest(new URL(path, url), { headers }, (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
        sent.on('error', reject).end()
      })
    const paid = await service.transfersOf(async () => {
      for (const headers of [
        { Host: 'attacker.example' },
        { Host: 'attacker.example:4040', 'Sec-Fetch-Site': 'same-origin' },
        { Host: '127.0.0.1.attacker.example' },
        { Origin: 'https://attacker.example' },
        { Origin: 'http://localhost.attacker.example' },
        { Origin: 'null' },
        { 'Sec-Fetch-Site': 'cross-site' },
      ])
        expect(await statusWith(headers), JSON.stringify(headers)).to.equal(403)
      expect((await post(url, query, { ...FORM, Origin: 'https://attacker.example' })).status).to.equal(403)
    })
    expect(paid).to.equal(0)
    for (const headers of [
      { Host: 'localhost:4040' },
      { Host: '[::1]:1', Origin: 'http://localhost:3333' },
      { 'Sec-Fetch-Site': 'none' },
    ])
      expect(await statusWith(headers, ''), JSON.stringify(headers)).to.equal(200)
  })

  it('shows no record of an earlier day, which another command has bought into the folder', async () => {
    const url = await start()
    const metadata = (await (await fetch(`${service.url}/api/v1/meta`)).json()) as { source: Source }
    const buyer = createBuyer({ url: service.url, key: service.buyerKey, folder: join(directory, 'folder') })
    await buyer.asOf('1002', dateOfSource(metadata.source))
    const preview = await (await fetch(`${url}preview?id=1002`)).text()
    expect(preview).to.contain('This record was not bought')
  })

  it('refuses other paths, methods, forms and sizes without a purchase', async () => {
    const url = await start()
    const query = { query: 'Numbered Fixture 9' }
    const many = Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`q${index}`, query]))
    const send = (body: string, type = FORM['Content-Type']) =>
      fetch(url, { method: 'POST', headers: { 'Content-Type': type }, body })
    const encoded = encodeURIComponent(JSON.stringify({ q0: query }))
    const paid = await service.transfersOf(async () => {
      expect((await fetch(`${url}suggest`)).status).to.equal(404)
      expect((await fetch(url, { method: 'PUT' })).status).to.equal(405)
      // The second one is JSONP, which OpenRefine tries if its first request fails.
      for (const search of [`queries=${encoded}`, 'callback=jQuery3710987_1764000000000&_=1764000000001'])
        expect((await fetch(`${url}?${search}`)).status).to.equal(405)
      const { origin } = new URL(url)
      for (const path of ['/', `/${'A'.repeat(22)}/`, url.slice(origin.length, -1)])
        expect((await post(origin + path, { q0: query })).status, path).to.equal(404)
      expect((await post(url, many)).status).to.equal(413)
      // The number of queries is checked before the queries are.
      expect((await post(url, { ...many, q0: 7 })).status).to.equal(413)
      expect((await post(url, { q0: { query: 'x'.repeat(300_000) } })).status).to.equal(413)
      expect((await send(JSON.stringify({ q0: query }), 'application/json')).status).to.equal(415)
      for (const body of [
        '',
        'extend={}',
        'extend={"ids":["1"],"properties":[{"id":"x"}]}',
        `queries=${encoded}&queries=${encoded}`,
        'queries=[1]',
        'queries=null',
        'queries={',
      ])
        expect((await send(body)).status, body).to.equal(400)
    })
    expect(paid).to.equal(0)
  })
})
