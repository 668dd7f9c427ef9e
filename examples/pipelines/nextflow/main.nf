#!/usr/bin/env nextflow

// Annotated genomes to a model of introns, tracks and a report; genomes without annotation to introns.

include { SEQMTL_ADAPT                    } from './modules/seqmtl/adapt/main'
include { SEQMTL_ANNOTATE                 } from './modules/seqmtl/annotate/main'
include { SEQMTL_CALIBRATE                } from './modules/seqmtl/calibrate/main'
include { SEQMTL_DATASET                  } from './modules/seqmtl/dataset/main'
include { SEQMTL_EVALUATE                 } from './modules/seqmtl/evaluate/main'
include { SEQMTL_PAIR                     } from './modules/seqmtl/pair/main'
include { SEQMTL_REPORT                   } from './modules/seqmtl/report/main'
include { SEQMTL_SCAN                     } from './modules/seqmtl/scan/main'
include { SEQMTL_SCAN as SEQMTL_SCAN_FEW  } from './modules/seqmtl/scan/main'
include { SEQMTL_TRAIN                    } from './modules/seqmtl/train/main'

workflow SEQMTL {
    take:
    known      // maps with organism, genome and annotation, to train on
    few        // maps with organism, genome, like, signal and windows, of few labels
    unlabelled // maps with organism, genome, like, and introns that are known or []
    tree       // file or []
    settings   // text before the organisms in the TOML file of seqmtl dataset
    format     // format of scans with the paired model

    main:
    toml = known
        .map { row -> "[organisms.\"${row.organism}\"]\ngenome = \"${row.genome.name}\"\nannotation = \"${row.annotation.name}\"\n" }
        .collectFile(name: 'dataset.toml', seed: settings, sort: true)
    genomes = known.map { row -> row.genome }.collect().map { files -> [files] }
    annotations = known.map { row -> row.annotation }.collect().map { files -> [files] }
    signals = channel.of('donor', 'acceptor').map { signal -> [[id: signal, signal: signal]] }
    SEQMTL_DATASET(signals.combine(toml).combine(genomes).combine(annotations))
    datasets = SEQMTL_DATASET.out.dataset

    SEQMTL_TRAIN(datasets, tree)
    SEQMTL_CALIBRATE(SEQMTL_TRAIN.out.model.join(datasets))
    models = SEQMTL_CALIBRATE.out.model
    ready = models.join(datasets)

    donors = ready.filter { item -> item[0].signal == 'donor' }
    acceptors = ready.filter { item -> item[0].signal == 'acceptor' }
    halves = donors.combine(acceptors)
        .map { _d, donor, of_donors, files, _a, acceptor, of_acceptors, _f -> [[id: 'splice'], donor, acceptor, of_donors, of_acceptors, files] }
    SEQMTL_PAIR(halves)
    paired = SEQMTL_PAIR.out.model
    both = paired.join(halves)
        .map { meta, model, _d, _a, of_donors, of_acceptors, files -> [meta, model, [of_donors, of_acceptors], files] }
    SEQMTL_EVALUATE(ready.mix(both))
    SEQMTL_SCAN(
        known.combine(paired).map { row, _m, model -> [[id: row.organism], model, row.genome, row.organism] },
        format,
    )

    // without annotated genomes, the shipped models take the place of those trained here: []
    trained = models.toList().map { found -> found.collectEntries { meta, model -> [meta.signal, model] } }
    SEQMTL_ADAPT(
        few.combine(trained).map { row, by_signal -> [[id: row.organism, signal: row.signal], by_signal[row.signal] ?: [], row.windows, [], row.like, []] },
        tree,
    )
    of_few = few.map { row -> [[id: row.organism, signal: row.signal], row.genome] }
    SEQMTL_SCAN_FEW(
        SEQMTL_ADAPT.out.model.join(of_few).map { meta, model, genome -> [meta, model, genome, meta.id] },
        format in ['all', 'introns'] ? 'bed' : format,
    )
    SEQMTL_ANNOTATE(
        unlabelled.map { row -> [[id: row.organism], row.genome, row.like ?: 'auto', row.introns] },
        paired.map { _m, model -> model }.ifEmpty([]).first(),
        tree,
    )

    results = datasets
        .mix(models, paired, SEQMTL_EVALUATE.out.json, SEQMTL_SCAN.out.summary)
        .mix(SEQMTL_ADAPT.out.model, SEQMTL_SCAN_FEW.out.summary, SEQMTL_ANNOTATE.out.results)
        .map { item -> item[1] }
        .collect(sort: { path -> path.name })
    SEQMTL_REPORT(results.map { files -> [[id: 'report'], files] }, tree)

    emit:
    model = paired
    metrics = SEQMTL_EVALUATE.out.json
    sites = SEQMTL_SCAN.out.sites.mix(SEQMTL_SCAN_FEW.out.sites)
    introns = SEQMTL_ANNOTATE.out.introns
    report = SEQMTL_REPORT.out.report
}

// A file of the samplesheet, whose paths are relative to it.
def beside(sheet, name) {
    return name ? file(sheet.resolveSibling(name), checkIfExists: true) : []
}

workflow {
    main:
    if (!params.input) {
        error("--input names no samplesheet; give a CSV file with the columns organism, genome and annotation")
    }
    sheet = file(params.input, checkIfExists: true)
    rows = channel.of(sheet)
        .splitCsv(header: true, strip: true)
        .map { row -> [
            organism: row.organism,
            genome: beside(sheet, row.genome),
            annotation: beside(sheet, row.annotation),
            introns: beside(sheet, row.introns),
            like: row.like ?: '',
            windows: [donor: beside(sheet, row.donors), acceptor: beside(sheet, row.acceptors)].findAll { _signal, path -> path },
        ] }
    SEQMTL(
        rows.filter { row -> row.annotation },
        rows.filter { row -> !row.annotation }.flatMap { row -> row.windows.collect { signal, path -> row + [signal: signal, windows: path] } },
        rows.filter { row -> !row.annotation && !row.windows },
        params.tree ? file(params.tree, checkIfExists: true) : [],
        params.settings ? file(params.settings, checkIfExists: true).text : '',
        params.format,
    )
    channel.topic('versions')
        .map { process, tool, version -> "${process.tokenize(':').last()}:\n    ${tool}: ${version}\n" }
        .unique()
        .collectFile(name: 'versions.yml', storeDir: "${params.outdir}/pipeline_info", sort: true)
}
