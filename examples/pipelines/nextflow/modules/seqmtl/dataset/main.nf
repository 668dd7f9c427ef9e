process SEQMTL_DATASET {
    tag "$meta.id"
    label 'process_low'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/seqmtl:0.1.0--pyhdfd78af_0' :
        'quay.io/biocontainers/seqmtl:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(config), path(genomes), path(annotations)

    output:
    tuple val(meta), path("${prefix}"), path(genomes), emit: dataset
    tuple val("${task.process}"), val('seqmtl'), eval("seqmtl --version | sed 's/.* //'"), topic: versions, emit: versions_seqmtl

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    seqmtl dataset $config --threads $task.cpus $args -o ${prefix}
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    mkdir ${prefix}
    touch ${prefix}/windows.tsv ${prefix}/regions.tsv ${prefix}/sites.tsv ${prefix}/summary.json
    """
}
